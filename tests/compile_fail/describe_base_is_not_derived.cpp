// expect: keel: this type is not described: add KEEL_DESCRIBE(type, members...) after it
#include <keel/describe.hpp>

struct base {
    int x = 0;
};
KEEL_DESCRIBE(base, x)
struct derived : base {
    int y = 0;
};

bool f(std::string& out, const derived& d) { return keel::write_json(out, d); }
