// expect: keel: this type is not described: add KEEL_DESCRIBE(type, members...) after it, in the same namespace
#include <keel/server.hpp>

struct row {
    int x = 0;
};

void f(keel::server& s) {
    s.add_tool("rows", "", [] { return std::vector<row>(); });
}
