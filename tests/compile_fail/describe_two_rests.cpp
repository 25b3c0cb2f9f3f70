// expect: keel: at most one member can have the option keel::rest
#include <keel/describe.hpp>

struct args {
    keel::json::value a;
    keel::json::value b;
};
KEEL_DESCRIBE(args, (a, keel::rest), (b, keel::rest))
