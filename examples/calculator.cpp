// A complete small server. Try it:
//
//     keel call add a=1 b=2 -- build/release/bin/example-calculator

#include <keel/main.hpp>

struct add_args {
    double a = 0;
    double b = 0;
};
KEEL_DESCRIBE(add_args, a, b)

int main(int argc, char** argv) {
    keel::server server({.name = "calculator", .version = "1.0.0"});
    server.add_tool("add", "Add two numbers", [](add_args in) { return in.a + in.b; });
    return keel::main(server, argc, argv);
}
