// expect: keel: this enum is not described: add KEEL_DESCRIBE_ENUM(type, enumerators...) after it
#include <keel/describe.hpp>

enum class color { red, green };
struct args {
    color paint = color::red;
};
KEEL_DESCRIBE(args, paint)
