#include "run.hpp"

#include "exit_status.hpp"
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

int run_with(const command& c, command_session& s) {
    try {
        s.connect();
    } catch (const std::exception&) {
        return tell(describe_failed_connect(s.where(), s.unexpected()), s.how(), s.signal(), s.screen());
    }
    try {
        return c.run(s);
    } catch (const std::exception&) {
        return tell(describe_failure(), s.how(), s.signal(), s.screen());
    }
}

}  // namespace

int run(const command& c, const options& o) {
    std::setlocale(LC_CTYPE, "C.UTF-8");  // only for the width of characters
    if (o.help) {
        std::fputs(help_of(c).c_str(), stdout);
        return exit_status::ok;
    }
    if (!o.problem.empty()) return wrong_usage(c, o.problem);
    if (o.templates && c.name != "resources") return wrong_usage(c, "--templates is an option of keel resources only");
    std::unique_ptr<command_session> s;
    try {
        c.check(o.words);
        s = std::make_unique<command_session>(o);
    } catch (const usage_error& e) {
        return wrong_usage(c, e.what());
    } catch (const std::exception&) {
        failure f = describe_failure();
        std::fprintf(stderr, "keel: %s\n", printable(f.text).c_str());
        return f.status;
    }
    return run_with(c, *s);
}

}  // namespace keel::command
