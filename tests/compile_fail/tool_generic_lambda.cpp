// expect: keel: a tool must be a function or an object with exactly one call operator (no generic lambda)
#include <keel/server.hpp>

void add(keel::server& s) {
    s.add_tool("add", "", [](auto in) { return in; });
}
