// expect: keel: omit_empty is for texts
#include <keel/describe.hpp>

struct args {
    std::optional<std::string> name;
};
KEEL_DESCRIBE(args, (name, keel::omit_empty))
