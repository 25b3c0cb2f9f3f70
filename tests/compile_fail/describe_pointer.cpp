// expect: keel: pointers and references cannot be described
#include <keel/describe.hpp>

struct args {
    const char* name = nullptr;
};
KEEL_DESCRIBE(args, name)
