// expect: keel: two members of this struct have the same JSON name
#include <keel/describe.hpp>

struct args {
    int a = 0;
    int b = 0;
};
KEEL_DESCRIBE(args, a, (b, keel::wire("a")))
