// expect: keel: the keys of a described map must be std::string
#include <keel/describe.hpp>

#include <map>

struct args {
    std::map<int, int> table;
};
KEEL_DESCRIBE(args, table)
