// expect: keel: min_items and max_items apply to lists only
#include <keel/describe.hpp>

struct args {
    std::string name;
};
KEEL_DESCRIBE(args, (name, "Who", keel::min_items(1)))
