// expect: keel: the arguments of a tool must be one struct with KEEL_DESCRIBE(type, members...)
// at most 1 errors, 20 lines
#include <keel/server.hpp>

struct args {
    int a = 0;
};

void add(keel::server& s) {
    s.add_tool("add", "", [](args in) { return in.a; });
}
