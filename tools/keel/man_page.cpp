#include "man_page.hpp"

#include "completion_script.hpp"
#include "help_text.hpp"
#include "option_table.hpp"

#include <keel/version.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace keel::command {

namespace {

/// Text for roff: a backslash, a hyphen, and a dot or quote at the start of a line have a meaning of their own.
std::string roff(std::string_view text) {
    std::string out;
    bool start = true;
    for (char c : text) {
        if (start && (c == '.' || c == '\'')) out += "\\&";
        if (c == '\\') out += "\\e";
        else if (c == '-') out += "\\-";
        else out += c;
        start = c == '\n';
    }
    return out;
}

std::string heading(const std::string& name) {
    std::string title = name;
    for (char& c : title) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
    return ".TH \"" + title + "\" 1 \"\" \"keel " KEEL_VERSION "\" \"User Commands\"\n";
}

std::string synopsis(const command& c) {
    std::string text = ".SH SYNOPSIS\n.nf\n";
    for (const std::string& each : usages_of(c)) text += "keel " + roff(each) + "\n";
    return text + ".fi\n";
}

std::string as_is(std::string_view text) { return ".nf\n" + roff(text) + ".fi\n"; }

std::string option_entry(const option& o) {
    std::string name = o.name == "--help" ? "\\fB\\-h\\fR, \\fB\\-\\-help\\fR" : "\\fB" + roff(o.name) + "\\fR";
    return ".TP\n" + name + (o.value.empty() ? "" : " \\fI" + roff(o.value) + "\\fR") + "\n" + roff(o.about) + "\n";
}

std::string option_entries(const command& c) {
    std::string text = ".SH OPTIONS\n";
    for (const option& each : all_options()) {
        bool shown = c.local ? each.name == "--help" ||
                                   (c.name == "servers" && (each.name == "--config" || each.name == "--json"))
                             : belongs_to(each, c.name) && each.name != "-h";
        if (shown) text += option_entry(each);
    }
    return text;
}

void write_file(const std::filesystem::path& path, std::string_view text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary);
    out << text;
    if (!out.flush()) throw std::system_error(errno, std::generic_category(), "cannot write " + path.string());
}

}  // namespace

std::string general_man_page() {
    std::string text = heading("keel") +
                       ".SH NAME\nkeel \\- talk to servers of the Model Context Protocol\n"
                       ".SH SYNOPSIS\n.nf\nkeel COMMAND [arguments] [options]\n.fi\n.SH COMMANDS\n";
    for (const command& each : all_commands()) {
        text += ".TP\n\\fB" + std::string(each.name) + "\\fR\n" + roff(each.about) + "; see \\fBkeel\\-" +
                std::string(each.name) + "\\fR(1)\n";
    }
    text += ".TP\n\\fBdemo\\fR\nrun a demo server with every feature\n";
    text += ".TP\n\\fBversion\\fR\nprint the version\n.TP\n\\fBhelp\\fR\nshow the help\n";
    text += ".SH EXIT STATUS\n" + as_is(exit_status_help) + ".SH SEE ALSO\n";
    std::string others;
    for (const command& each : all_commands())
        others += (others.empty() ? "" : ",\n") + ("\\fBkeel\\-" + std::string(each.name) + "\\fR(1)");
    return text + others + "\n";
}

std::string man_page_of(const command& c) {
    std::string name = "keel-" + std::string(c.name);
    std::string text = heading(name) + ".SH NAME\n" + roff(name) + " \\- " + roff(c.about) + "\n" + synopsis(c);
    if (*c.help) text += ".SH DESCRIPTION\n" + as_is(c.help);
    if (!c.local) {
        text += (*c.help ? ".PP\n" : ".SH DESCRIPTION\n");
        text += "SERVER is the name of a configured server (\\fBkeel servers\\fR lists them) or a URL.\n";
    }
    text += option_entries(c);
    if (!c.local) text += ".SH EXIT STATUS\n" + as_is(exit_status_help);
    return text + ".SH SEE ALSO\n\\fBkeel\\fR(1)\n";
}

void write_generated_files(const std::string& folder) {
    std::filesystem::path to = folder;
    write_file(to / "man" / "keel.1", general_man_page());
    for (const command& each : all_commands())
        write_file(to / "man" / ("keel-" + std::string(each.name) + ".1"), man_page_of(each));
    write_file(to / "bash" / "keel", completion_script("bash"));
    write_file(to / "zsh" / "_keel", completion_script("zsh"));
    write_file(to / "fish" / "keel.fish", completion_script("fish"));
}

}  // namespace keel::command
