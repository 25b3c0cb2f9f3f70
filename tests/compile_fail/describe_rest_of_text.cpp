// expect: keel: rest applies to a json::value only
#include <keel/describe.hpp>

struct args {
    std::string name;
};
KEEL_DESCRIBE(args, (name, keel::rest))
