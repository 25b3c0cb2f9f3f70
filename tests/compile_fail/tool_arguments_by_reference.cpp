// expect: keel: a handler must take its arguments by value or by const reference
#include <keel/server.hpp>

struct args {
    int x = 0;
};
KEEL_DESCRIBE(args, x)

void f(keel::server& s) {
    s.add_tool("x", "", [](args& a) { return a.x; });
}
