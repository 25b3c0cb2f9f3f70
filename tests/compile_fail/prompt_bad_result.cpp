// expect: keel: a prompt must return std::string, keel::prompt_message, a vector of these
#include <keel/server.hpp>

void add(keel::server& s) {
    s.add_prompt("p", "", [] { return 7; });
}
