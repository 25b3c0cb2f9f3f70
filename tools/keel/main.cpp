// The keel command.

#include "demo.hpp"
#include "printable.hpp"
#include "run.hpp"

#include <keel/main.hpp>
#include <keel/version.hpp>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

std::string help() {
    return "keel, the Model Context Protocol for C++\n"
           "\n"
           "Usage: keel COMMAND [arguments] [options]\n"
           "\n"
           "Client commands (see keel COMMAND --help):\n" +
           keel::command::list_of_commands() +
           "\n"
           "  keel tools -- ./my-server                           a program\n"
           "  keel call add a=1 b=2 --url http://127.0.0.1:8848/mcp\n"
           "                                                      over HTTP; or --unix PATH, --tcp HOST:PORT\n"
           "\n"
           "Others:\n"
           "  demo       run a demo server with every feature: tools, resources, prompts, completion,\n"
           "             subscriptions, elicitation (see keel demo --help)\n"
           "  version    print the version\n"
           "  help       show this help\n";
}

int demo(int argc, char** argv) {
    keel::server server({.name = "keel-demo",
                         .version = KEEL_VERSION,
                         .title = "Keel demo",
                         .description = "One of each feature of the Model Context Protocol"},
                        keel::demo::options());
    keel::demo::add_everything(server);
    return keel::main(server, argc, argv);
}

// Options may precede the command, which is then the first word that is not an option.
int options_first(int argc, char** argv) {
    keel::command::options o = keel::command::read_options(argc, argv);
    std::string command = o.words.empty() ? std::string() : o.words[0];
    if (const auto* found = keel::command::find_command(command)) {
        o.words.erase(o.words.begin());
        return keel::command::run(*found, o);
    }
    if (o.help) {
        std::fputs(help().c_str(), stdout);
        return 0;
    }
    std::string why = "missing command";
    if (command == "demo") why = "options of demo must follow the command: keel demo [options]";
    else if (!command.empty()) why = "unknown command: " + command;
    else if (o.problem.starts_with("unknown option")) why = o.problem;
    std::fprintf(stderr, "keel: %s\n\n%s", keel::command::printable(why).c_str(), help().c_str());
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    std::string_view command = argc > 1 ? argv[1] : "help";
    if (command == "demo") return demo(argc - 1, argv + 1);
    if (const auto* found = keel::command::find_command(command))
        return keel::command::run(*found, keel::command::read_options(argc - 1, argv + 1));
    if (command == "version" || command == "--version") {
        std::puts("keel " KEEL_VERSION);
        return 0;
    }
    bool asked = command == "help" || command == "--help" || command == "-h";
    if (!asked && command.starts_with('-')) return options_first(argc, argv);
    if (asked && argc > 2) {
        if (const auto* found = keel::command::find_command(argv[2])) {
            std::fputs(keel::command::help_of(*found).c_str(), stdout);
            return 0;
        }
    }
    if (!asked) std::fprintf(stderr, "keel: unknown command: %s\n\n", argv[1]);
    std::fputs(help().c_str(), asked && argc > 1 ? stdout : stderr);
    return asked && argc > 1 ? 0 : 2;
}
