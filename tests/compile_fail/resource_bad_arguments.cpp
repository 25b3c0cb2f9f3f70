// expect: keel: a resource handler must take keel::resource_request or a described struct
#include <keel/server.hpp>

void add(keel::server& s) {
    s.add_resource_template({.uri_template = "a:{x}", .name = "x"}, [](std::string x) { return x; });
}
