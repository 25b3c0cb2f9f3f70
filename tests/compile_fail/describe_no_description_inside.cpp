// expect: keel: this type is not described: add KEEL_DESCRIBE(type, members...) after it
#include <keel/describe.hpp>

struct point {
    int x = 0;
};
struct args {
    std::vector<point> points;
};
KEEL_DESCRIBE(args, points)

keel::json::value f() { return keel::schema_of<args>(); }
