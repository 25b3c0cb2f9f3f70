// expect: keel: KEEL_DESCRIBE needs a struct; use KEEL_DESCRIBE_ENUM for enums
#include <keel/describe.hpp>

enum class color { red, green };
KEEL_DESCRIBE(color, red, green)
