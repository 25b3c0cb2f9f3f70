// expect: keel: a member function needs its object: pass keel::bind_member(&type::function, &object)
#include <keel/server.hpp>

struct clock_service {
    std::string now() { return "noon"; }
};

void f(keel::server& s) { s.add_tool("now", "The time", &clock_service::now); }
