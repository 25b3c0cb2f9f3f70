// The keel command.

#include "completion_script.hpp"
#include "demo.hpp"
#include "help_text.hpp"
#include "man_page.hpp"
#include "printable.hpp"
#include "run.hpp"
#include "suggest.hpp"

#include <keel/main.hpp>
#include <keel/version.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

namespace {

int demo(int argc, char** argv) {
    keel::server server({.name = "keel-demo",
                         .version = KEEL_VERSION,
                         .title = "Keel demo",
                         .description = "One of each feature of the Model Context Protocol"},
                        keel::demo::options());
    keel::demo::add_everything(server);
    return keel::main(server, argc, argv);
}

// For the build: the man pages and completion scripts.
int generate(const char* folder) {
    try {
        keel::command::write_generated_files(folder);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "keel: %s\n", e.what());
        return 1;
    }
}

std::string unknown(std::string_view command) {
    std::string text = "unknown command: " + std::string(command);
    return text + keel::command::did_you_mean(command, keel::command::names_of_commands());
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
        std::fputs(keel::command::general_help().c_str(), stdout);
        return 0;
    }
    std::string why = "missing command";
    if (command == "demo") why = "options of demo must follow the command: keel demo [options]";
    else if (!command.empty()) why = unknown(command);
    else if (o.problem.starts_with("unknown option")) why = o.problem;
    std::fprintf(stderr, "keel: %s\n\n%s", keel::command::printable(why).c_str(),
                 keel::command::general_help().c_str());
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    std::string_view command = argc > 1 ? argv[1] : "help";
    if (command == "demo") return demo(argc - 1, argv + 1);
    if (const auto* found = keel::command::find_command(command))
        return keel::command::run(*found, keel::command::read_options(argc - 1, argv + 1));
    if (command == "__complete") return keel::command::print_candidates({argv + 2, argv + argc});
    if (command == "__generate" && argc == 3) return generate(argv[2]);
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
    if (!asked) std::fprintf(stderr, "keel: %s\n\n", keel::command::printable(unknown(command)).c_str());
    std::fputs(keel::command::general_help().c_str(), asked && argc > 1 ? stdout : stderr);
    return asked && argc > 1 ? 0 : 2;
}
