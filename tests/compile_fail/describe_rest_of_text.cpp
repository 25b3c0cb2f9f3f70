// expect: keel: rest is for a json::value
#include <keel/describe.hpp>

struct args {
    std::string name;
};
KEEL_DESCRIBE(args, (name, keel::rest))
