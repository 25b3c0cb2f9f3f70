// expect: keel: only one member can take the rest
#include <keel/describe.hpp>

struct args {
    keel::json::value a;
    keel::json::value b;
};
KEEL_DESCRIBE(args, (a, keel::rest), (b, keel::rest))
