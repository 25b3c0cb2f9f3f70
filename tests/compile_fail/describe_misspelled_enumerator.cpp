// expect: member
// at most 2 errors, 60 lines
#include <keel/describe.hpp>

enum class color { red, green };
KEEL_DESCRIBE_ENUM(color, red, gren)
