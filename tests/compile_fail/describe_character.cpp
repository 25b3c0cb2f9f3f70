// expect: keel: character types cannot be described
#include <keel/describe.hpp>

struct args {
    char letter = 'x';
};
KEEL_DESCRIBE(args, letter)
