// expect: keel: a handler must take (context&, Arguments), (Arguments), (context&) or no parameters; put all arguments in one struct
#include <keel/server.hpp>

void add(keel::server& s) {
    s.add_tool("add", "", [](int a, int b) { return a + b; });
}
