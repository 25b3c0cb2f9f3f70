// expect: keel: omit_empty applies to strings, lists
#include <keel/describe.hpp>

struct args {
    std::optional<std::string> name;
};
KEEL_DESCRIBE(args, (name, keel::omit_empty))
