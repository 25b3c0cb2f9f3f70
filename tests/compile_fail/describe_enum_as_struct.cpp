// expect: keel: KEEL_DESCRIBE is for structs: use KEEL_DESCRIBE_ENUM
#include <keel/describe.hpp>

enum class color { red, green };
KEEL_DESCRIBE(color, red, green)
