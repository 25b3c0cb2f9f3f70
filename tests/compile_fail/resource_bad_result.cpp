// expect: keel: a resource handler must return std::string (text), keel::bytes, keel::resource_contents, a vector
#include <keel/server.hpp>

void add(keel::server& s) {
    s.add_resource({.uri = "a:b", .name = "x"}, [] { return 7; });
}
