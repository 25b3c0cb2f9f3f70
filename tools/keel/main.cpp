// The keel command.

#include "demo.hpp"

#include <keel/server.hpp>
#include <keel/version.hpp>

#include <cstdio>
#include <string_view>

namespace {

constexpr const char* help =
    "keel, the Model Context Protocol for C++\n"
    "\n"
    "Usage: keel COMMAND [options]\n"
    "\n"
    "  demo     serve one of each feature, to try them: tools, resources, prompts, completion,\n"
    "           subscriptions, questions to the user (keel demo --help says where and how)\n"
    "  version  print the version\n"
    "  help     this text\n";

int demo(int argc, char** argv) {
    keel::server server({.name = "keel-demo",
                         .version = KEEL_VERSION,
                         .title = "Keel demo",
                         .description = "One of each feature of the Model Context Protocol"},
                        keel::demo::options());
    keel::demo::add_everything(server);
    return keel::main(server, argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
    std::string_view command = argc > 1 ? argv[1] : "help";
    if (command == "demo") return demo(argc - 1, argv + 1);
    if (command == "version" || command == "--version") {
        std::puts("keel " KEEL_VERSION);
        return 0;
    }
    bool asked = command == "help" || command == "--help" || command == "-h";
    if (!asked) std::fprintf(stderr, "keel: unknown command: %s\n\n", argv[1]);
    std::fputs(help, asked && argc > 1 ? stdout : stderr);
    return asked && argc > 1 ? 0 : 2;
}
