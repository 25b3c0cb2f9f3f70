// expect: keel: described in another namespace: move KEEL_DESCRIBE into the namespace of shop::args
#include <keel/describe.hpp>

namespace shop {
struct args {
    int x = 0;
};
}  // namespace shop

KEEL_DESCRIBE(shop::args, x)
