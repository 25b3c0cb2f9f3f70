// expect: keel: a described member owns its text: use std::string instead of std::string_view
#include <keel/describe.hpp>

struct args {
    std::string_view name;
};
KEEL_DESCRIBE(args, name)
