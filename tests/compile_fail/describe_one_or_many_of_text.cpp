// expect: keel: one_or_many is for std::vector
#include <keel/describe.hpp>

struct args {
    std::string name;
};
KEEL_DESCRIBE(args, (name, keel::one_or_many))
