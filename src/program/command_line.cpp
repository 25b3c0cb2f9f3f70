#include "program/command_line.hpp"

#include "program/option_table.hpp"
#include "program/passed_sockets.hpp"
#include "transport/listen_address.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace keel::inline KEEL_ABI::program {

namespace {

/// Sockets that a service manager passes are checked when they are known.
bool is_local(const std::string& address) {
    return socket_name(address) || transport::listen_address::parse(address).is_local();
}

class reader {
public:
    command_line line;

    void read_words(int argc, const char* const* argv) {
        for (int i = 1; i < argc; ++i) {
            std::string_view word = argv[i];
            std::optional<std::string> value;
            if (auto equals = word.find('='); word.starts_with("--") && equals != std::string_view::npos) {
                value = std::string(word.substr(equals + 1));
                word = word.substr(0, equals);
            }
            const option* found = find_option(word);
            if (!found) {
                fail("unknown option: " + std::string(argv[i]) + (word.starts_with('-') ? did_you_mean(word) : ""));
                continue;
            }
            given_.insert(found);
            if (found->value.empty() && value) fail(std::string(word) + " takes no value");
            if (!found->value.empty() && !value) {
                if (i + 1 == argc) {
                    fail(std::string(word) + " needs " + std::string(found->needs));
                    continue;
                }
                value = argv[++i];
            }
            set(found->set, found->name, value.value_or(""));
        }
    }

    void read_variables(const environment& variables) {
        bool has_endpoint = std::any_of(given_.begin(), given_.end(),
                                        [](const option* o) { return o->group == option_group::endpoints; });
        for (const option& each : all_options()) {
            if (each.variable.empty() || given_.contains(&each)) continue;
            if (has_endpoint && each.group == option_group::endpoints) continue;
            const char* value = variables(std::string(each.variable).c_str());
            if (value && *value) set_variable(each, value);
        }
    }

    void finish() {
        if (line.serving.endpoints.empty() && line.http_addresses.empty())
            line.serving.endpoints.push_back(endpoint::stdio());
        if (line.http.tls_certificate.empty() != line.http.tls_key.empty())
            fail("--tls-cert and --tls-key must be used together");
        for (const std::string& each : line.http_addresses) {
            if (line.problem.empty() && line.http.allow_hosts.empty() && !is_local(each)) {
                fail("--http " + each +
                     ": on an address that is not loopback, the server must know its host names (DNS rebinding): add "
                     "--allow-host NAME, or --allow-any-host to accept every name");
            }
        }
        for (const endpoint& each : line.serving.endpoints) {
            if (each.where == endpoint::kind::stdio && line.log.access_file == "-")
                fail("--access-log -: standard output is used by --stdio; name a file");
        }
    }

private:
    void fail(std::string why) {
        if (line.problem.empty()) line.problem = std::move(why);
    }

    void set(option::setter setter, std::string_view name, const std::string& value) {
        std::string wrong = setter(line, value);
        if (!wrong.empty()) fail(std::string(name) + wrong);
    }

    void set_variable(const option& o, const std::string& value) {
        if (o.set_variable) return set(o.set_variable, o.variable, value);
        if (o.value.empty()) {
            if (value == "on" || value == "1") set(o.set, o.variable, "");
            else if (value != "off" && value != "0") {
                fail(std::string(o.variable) + ": invalid value \"" + value + "\" (on or off)");
            }
            return;
        }
        if (!o.repeats) return set(o.set, o.variable, value);
        for (std::size_t at = 0; at <= value.size();) {
            std::size_t end = std::min(value.find(',', at), value.size());
            set(o.set, o.variable, value.substr(at, end - at));
            at = end + 1;
        }
    }

    std::set<const option*> given_;
};

// ---- help ----

constexpr std::size_t help_column = 30;
constexpr std::size_t help_width = 116;

std::string_view title_of(option_group g) {
    switch (g) {
        case option_group::endpoints: return "Endpoints (default: --stdio; options may be repeated, except --stdio):\n";
        case option_group::http: return "\nHTTP options:\n";
        case option_group::limits: return "\nLimits (SIZE: 500K, 4M, 1G):\n";
        case option_group::other: break;
    }
    return "\nOther options:\n";
}

/// Appends the words of `text`, with line breaks and an indentation of help_column.
void append_paragraph(std::string& out, std::string_view text) {
    std::size_t column = help_column;
    while (!text.empty()) {
        std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (column > help_column && column + 1 + word.size() > help_width) {
            out += "\n" + std::string(help_column, ' ');
            column = help_column;
        }
        if (column > help_column) out += ' ', ++column;
        out += word;
        column += word.size();
    }
    out += '\n';
}

}  // namespace

command_line read_command_line(int argc, const char* const* argv, const environment& variables, http_options defaults) {
    reader r;
    r.line.http = std::move(defaults);
    r.read_words(argc, argv);
    if (variables) r.read_variables(variables);
    r.finish();
    return std::move(r.line);
}

std::string help_text(std::string_view program, const implementation& about) {
    std::string text = about.name + " " + about.version + ", a Model Context Protocol (MCP) server\n\n";
    if (!about.description.empty()) text += about.description + "\n\n";
    text += "Usage: " + std::string(program) + " [options]\n\n";
    std::optional<option_group> group;
    for (const option& each : all_options()) {
        if (group != each.group) text += title_of(each.group);
        group = each.group;
        std::string left = "  " + std::string(each.name);
        if (!each.value.empty()) left += " " + std::string(each.value);
        text += left;
        if (left.size() + 1 < help_column) text += std::string(help_column - left.size(), ' ');
        else text += "\n" + std::string(help_column, ' ');
        std::string paragraph(each.help);
        if (!each.variable.empty()) paragraph += " [" + std::string(each.variable) + "]";
        append_paragraph(text, paragraph);
    }
    text +=
        "\n"
        "[KEEL_NAME] is an environment variable with the same meaning: a value, a list with commas for options that "
        "may be\n"
        "repeated, \"on\" for options without a value. Options on the command line take precedence.\n"
        "\n"
        "SIGTERM and SIGINT shut the server down gracefully; a second signal ends the process at once.\n"
        "Exit status: 0 after a graceful shutdown, 1 if serving failed, 2 if the command line or the environment is "
        "invalid.\n";
    return text;
}

}  // namespace keel::program
