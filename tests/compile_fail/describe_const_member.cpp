// expect: keel: const members cannot be described: decode could not set them
#include <keel/describe.hpp>

struct args {
    const int size = 1;
};
KEEL_DESCRIBE(args, size)
