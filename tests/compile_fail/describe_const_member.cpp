// expect: keel: a const member cannot be decoded, so it cannot be described
#include <keel/describe.hpp>

struct args {
    const int size = 1;
};
KEEL_DESCRIBE(args, size)
