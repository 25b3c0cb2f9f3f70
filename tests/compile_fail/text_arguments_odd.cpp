// expect: keel: text_arguments takes names and values in turn
#include <keel/call.hpp>

auto f() { return keel::text_arguments("name"); }
