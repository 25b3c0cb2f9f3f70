// expect: keel: the arguments of a prompt must be one struct with KEEL_DESCRIBE(type, members...)
#include <keel/server.hpp>

void add(keel::server& s) {
    s.add_prompt("p", "", [](std::string subject) { return subject; });
}
