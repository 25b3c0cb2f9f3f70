// expect: keel: this type is not described: add KEEL_DESCRIBE(type, members...) after it
#include <keel/describe.hpp>

struct args {
    int x = 0;
};

keel::json::value f(const args& a) { return keel::encode(a); }
