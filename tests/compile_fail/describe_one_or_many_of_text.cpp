// expect: keel: one_or_many applies to std::vector only
#include <keel/describe.hpp>

struct args {
    std::string name;
};
KEEL_DESCRIBE(args, (name, keel::one_or_many))
