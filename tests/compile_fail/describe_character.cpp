// expect: keel: a character is neither a number nor a text
#include <keel/describe.hpp>

struct args {
    char letter = 'x';
};
KEEL_DESCRIBE(args, letter)
