// expect: keel: a member of this struct has the JSON name of its tag
#include <keel/describe.hpp>

struct args {
    std::string type;
};
KEEL_DESCRIBE_TAGGED(args, "type", "a", type)
