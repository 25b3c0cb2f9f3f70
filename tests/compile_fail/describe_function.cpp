// expect: keel: only data members can be described
#include <keel/describe.hpp>

struct args {
    int size() const { return 1; }
};
KEEL_DESCRIBE(args, size)
