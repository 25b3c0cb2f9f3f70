#include "options.hpp"
#include "commands.hpp"
#include "help_text.hpp"
#include "man_page.hpp"
#include "option_table.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

keel::command::options parsed_options(std::vector<std::string> words) {
    std::vector<const char*> argv{"tools"};
    for (const std::string& each : words) argv.push_back(each.c_str());
    return keel::command::read_options(static_cast<int>(argv.size()), argv.data());
}

}  // namespace

TEST_CASE("every option of the table is parsed, and is in the help and the man page of its commands") {
    for (const keel::command::option& each : keel::command::all_options()) {
        std::string name(each.name);
        CAPTURE(name);
        if (name != "--") CHECK_FALSE(parsed_options({name, "x"}).problem.starts_with("unknown option"));
        for (const keel::command::command& c : keel::command::all_commands()) {
            if (c.local) continue;
            bool listed =
                keel::command::help_of(c).find("  " + name + (each.value.empty() ? "" : " ")) != std::string::npos;
            if (name != "--help" && name != "-h") CHECK(listed == keel::command::belongs_to(each, c.name));
        }
    }
}

TEST_CASE("every command is in the general help and the general man page") {
    for (const keel::command::command& c : keel::command::all_commands()) {
        std::string name(c.name);
        CAPTURE(name);
        CHECK(keel::command::general_help().find("\n  " + name + " ") != std::string::npos);
        CHECK(keel::command::general_man_page().find("\\fB" + name + "\\fR") != std::string::npos);
    }
}

TEST_CASE("an unknown option suggests the nearest one") {
    CHECK(parsed_options({"--tiemout", "5s"}).problem == "unknown option: --tiemout; did you mean --timeout?");
    CHECK(parsed_options({"--xyzxyzxyz"}).problem == "unknown option: --xyzxyzxyz");
}
