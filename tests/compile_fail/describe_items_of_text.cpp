// expect: keel: min_items and max_items are for lists
#include <keel/describe.hpp>

struct args {
    std::string name;
};
KEEL_DESCRIBE(args, (name, "Who", keel::min_items(1)))
