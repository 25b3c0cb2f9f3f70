// expect: keel: a handler takes (context&, Arguments), (Arguments), (context&) or nothing; put the arguments in one struct
#include <keel/server.hpp>

void add(keel::server& s) {
    s.add_tool("add", "", [](int a, int b) { return a + b; });
}
