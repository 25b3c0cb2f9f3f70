// expect: keel: std::string_view cannot be described (it would dangle): use std::string instead
#include <keel/describe.hpp>

struct args {
    std::string_view name;
};
KEEL_DESCRIBE(args, name)
