#include "features.hpp"

#include <keel/main.hpp>

int main(int argc, char** argv) {
    keel::server server({.name = "calculator", .version = "1.0.0"});
    add_features(server);
    return keel::main(server, argc, argv);
}
