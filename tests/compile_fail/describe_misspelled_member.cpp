// expect: member
// at most 2 errors, 60 lines
#include <keel/describe.hpp>

struct args {
    int count = 0;
};
KEEL_DESCRIBE(args, cuont)

keel::json::value f(const args& a) { return keel::encode(a); }
