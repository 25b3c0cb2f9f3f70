#include "run.hpp"

#include "exit_status.hpp"
#include "help_text.hpp"
#include "option_table.hpp"
#include "printable.hpp"

#include <clocale>
#include <cstdio>
#include <memory>
#include <string>

namespace keel::command {

namespace {

int wrong_usage(const command& c, const std::string& why) {
    std::string text = "keel " + std::string(c.name) + ": " + printable(why) + "\nkeel " + std::string(c.name) +
                       " --help shows the usage.\n";
    std::fputs(text.c_str(), stderr);
    return exit_status::usage;
}

// Prints the error.
int tell(const failure& f, const options& o, int signal, console& screen) {
    screen.clear_status();
    if (signal != 0) {
        screen.say("keel: cancelled");
        return exit_status::by_signal + signal;
    }
    if (!f.text.empty()) screen.say("keel: " + printable(f.text));
    if (!o.json || f.json.empty()) return f.status;
    try {
        write_out(f.json + "\n");
    } catch (const std::exception&) {
        if (failure more = describe_failure(); !more.text.empty()) screen.say("keel: " + more.text);
    }
    return f.status;
}

/// The library's message about an invalid URL does not name the option.
std::string with_option_name(std::string text, const options& o) {
    return !o.url.empty() && text.starts_with("invalid URL") ? "--url: " + text : text;
}

/// Adds what the user can do about the failure.
failure with_hint(failure f, const command_session& s) {
    if (f.text.empty()) return f;
    f.text += s.hint();
    const options& o = s.how();
    f.text = with_option_name(std::move(f.text), o);
    if (f.http_status == 401) {
        f.text +=
            "; the server requires authentication: get a token or API key for it and add --header 'Authorization: "
            "Bearer "
            "TOKEN'";
        if (!o.server_file.empty()) f.text += ", or headers to " + o.server_name + " in " + o.server_file;
    } else if (f.http_status == 403) {
        f.text += "; use --header to send credentials";
    }
    if (f.internal && !o.child.empty() && !o.verbose) f.text += "; --verbose shows the standard error of the server";
    return f;
}

int run_with(const command& c, command_session& s) {
    try {
        s.connect();
    } catch (const std::exception&) {
        return tell(with_hint(describe_failed_connect(s.where(), s.unexpected()), s), s.how(), s.signal(), s.screen());
    }
    return run_connected(c, s);
}

int run_local(const command& c, const options& o) {
    try {
        c.check(o.words);
        return c.local(o);
    } catch (const usage_error& e) {
        return wrong_usage(c, e.what());
    } catch (const std::exception&) {
        failure f = describe_failure();
        if (!f.text.empty()) std::fprintf(stderr, "keel: %s\n", printable(f.text).c_str());
        return f.status;
    }
}

std::string misplaced_option(const command& c, const options& o) {
    auto only = [&](bool given, const char* name) {
        const option* found = find_option(name);
        return given && !belongs_to(*found, c.name)
                   ? std::string(name) + " is an option of keel " + std::string(found->only) + " only"
                   : std::string();
    };
    for (std::string why :
         {only(o.templates, "--templates"), only(o.edit, "--edit"), only(o.history.has_value(), "--history")}) {
        if (!why.empty()) return why;
    }
    return {};
}

}  // namespace

int run_connected(const command& c, command_session& s) {
    try {
        s.set_hint("");
        return c.run(s);
    } catch (const std::exception&) {
        return tell(with_hint(describe_failure(), s), s.how(), s.signal(), s.screen());
    }
}

int run(const command& c, options o) {
    std::setlocale(LC_CTYPE, "C.UTF-8");  // only for the width of characters
    if (o.help) {
        std::fputs(help_of(c).c_str(), stdout);
        return exit_status::ok;
    }
    if (!o.problem.empty()) return wrong_usage(c, o.problem);
    if (std::string why = misplaced_option(c, o); !why.empty()) return wrong_usage(c, why);
    if (c.local) return run_local(c, o);
    std::unique_ptr<command_session> s;
    try {
        choose_server(o, c.first_word);
        c.check(o.words);
        s = std::make_unique<command_session>(o);
    } catch (const usage_error& e) {
        return wrong_usage(c, e.what());
    } catch (const std::exception&) {
        failure f = describe_failure();
        std::fprintf(stderr, "keel: %s\n", printable(with_option_name(f.text, o)).c_str());
        return f.status;
    }
    return run_with(c, *s);
}

}  // namespace keel::command
