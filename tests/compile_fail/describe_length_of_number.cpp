// expect: keel: min_length, max_length, format and pattern apply to strings only
#include <keel/describe.hpp>

struct args {
    int count = 0;
};
KEEL_DESCRIBE(args, (count, keel::max_length(3)))
