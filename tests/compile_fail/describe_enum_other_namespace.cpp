// expect: keel: described in another namespace: move KEEL_DESCRIBE_ENUM into the namespace of shop::color
#include <keel/describe.hpp>

namespace shop {
enum class color { red };
}

KEEL_DESCRIBE_ENUM(shop::color, red)
