// expect: keel: minimum and maximum apply to numbers only
#include <keel/describe.hpp>

struct args {
    std::optional<std::string> name;
};
KEEL_DESCRIBE(args, (name, keel::minimum(1)))
