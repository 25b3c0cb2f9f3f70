// expect: keel: a described struct needs a default constructor
#include <keel/describe.hpp>

struct args {
    explicit args(int n) : size(n) {}
    int size;
};
KEEL_DESCRIBE(args, size)
