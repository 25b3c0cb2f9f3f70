// keel shell

#include "commands.hpp"
#include "completion.hpp"
#include "exit_status.hpp"
#include "line_editor.hpp"
#include "printable.hpp"
#include "run.hpp"
#include "shell_history.hpp"
#include "suggest.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace keel::command {

namespace {

/// Reports changes of the server's lists while it exists.
class change_reporter {
public:
    explicit change_reporter(command_session& s) : screen_(s.screen()) {
        subscription_request all;
        all.tools = all.prompts = all.resources = true;
        try {
            changes_ = s.client().subscribe(all, s.call());
        } catch (const std::exception&) {
            return;  // the server does not report changes
        }
        thread_ = std::thread([this] { watch(); });
    }
    change_reporter(const change_reporter&) = delete;
    change_reporter& operator=(const change_reporter&) = delete;
    ~change_reporter() {
        if (!thread_.joinable()) return;
        changes_.stop();
        thread_.join();
    }

private:
    void watch() {
        try {
            while (auto c = changes_.next()) {
                const char* what = c->what == change::kind::tools     ? "tools"
                                   : c->what == change::kind::prompts ? "prompts"
                                                                      : "resources";
                screen_.say(std::string("[changed] ") + what);
            }
        } catch (const std::exception&) {
            return;  // the client is closed
        }
    }

    console& screen_;
    blocking_subscription changes_;
    std::thread thread_;
};

/// The commands that need the server, and those of the shell itself.
std::vector<std::string> shell_commands() {
    std::vector<std::string> names;
    for (const command& each : all_commands()) {
        if (each.run && each.name != "shell") names.emplace_back(each.name);
    }
    names.insert(names.end(), {"help", "exit"});
    return names;
}

feature_lookup lookup_of(command_session& s) {
    auto limits = [&s] {
        call_options how(s.interrupted());
        how.idle = how.total = std::chrono::seconds(3);
        return how;
    };
    auto or_nothing = [](auto ask) -> decltype(ask()) {
        try {
            return ask();
        } catch (const std::exception&) {
            return {};
        }
    };
    feature_lookup all;
    all.tools = [=, &s] { return or_nothing([&] { return s.client().list_tools(limits()); }); };
    all.prompts = [=, &s] { return or_nothing([&] { return s.client().list_prompts(limits()); }); };
    all.resources = [=, &s] { return or_nothing([&] { return s.client().list_resources(limits()); }); };
    all.prompt_values = [=, &s](const std::string& name, const std::string& argument, const std::string& value) {
        return or_nothing([&] { return s.client().complete_prompt(name, argument, value, {}, limits()).values; });
    };
    return all;
}

candidates complete_line(command_session& s, const std::string& line) {
    std::vector<std::string> words = split_line(line);
    candidates all;
    if (words.size() == 1) {
        for (const std::string& each : shell_commands()) all.words.push_back({each});
    } else if (const command* c = find_command(words[0]); c && c->run) {
        all = complete_features(c->name, {words.begin() + 1, words.end()}, lookup_of(s));
    }
    keep_matching(all, words.back());
    return all;
}

/// The options of one line, for the server of the shell.
options line_options(const std::vector<std::string>& words, const options& of_shell) {
    std::vector<const char*> argv;
    for (const std::string& each : words) argv.push_back(each.c_str());
    options o = read_options(static_cast<int>(argv.size()), argv.data());
    if (o.has_server() && o.problem.empty()) o.problem = "the shell is connected to one server: leave out the server";
    o.url = of_shell.url;
    o.child = of_shell.child;
    o.verbose = of_shell.verbose;
    o.json = o.json || of_shell.json;
    if (!o.timeout) o.timeout = of_shell.timeout;
    return o;
}

std::string shell_help() {
    std::string text;
    for (const command& each : all_commands()) {
        if (!each.run || each.name == "shell") continue;
        std::string left = std::string(each.name) + (*each.usage ? " " : "") + each.usage;
        left.resize(std::max<std::size_t>(left.size() + 2, 42), ' ');
        text += "  " + left + each.about + "\n";
    }
    return text + "  exit, Ctrl-D                              end the shell\n";
}

int run_line(command_session& s, const std::vector<std::string>& words, const options& of_shell) {
    if (words[0] == "help") {
        write_out(shell_help());
        return exit_status::ok;
    }
    const command* c = find_command(words[0]);
    if (!c || !c->run || c->name == "shell") {
        s.screen().say(printable("keel: unknown command: " + words[0] + did_you_mean(words[0], shell_commands())));
        return exit_status::usage;
    }
    options o = line_options(words, of_shell);
    try {
        if (!o.problem.empty()) throw usage_error(o.problem);
        c->check(o.words);
        if (!s.client().connected()) s.connect();
    } catch (const std::exception&) {
        failure f = describe_failure();
        s.screen().say("keel: " + printable(f.text));
        return f.status;
    }
    s.use(o);
    int status = run_connected(*c, s);
    s.use(of_shell);
    return status;
}

class line_source {
public:
    explicit line_source(command_session& s) : session_(s) {
        if (::isatty(STDIN_FILENO) == 0 || !s.screen().is_terminal()) return;
        editor_ = std::make_unique<line_editor>(s.screen(), "keel> ",
                                                [&s](const std::string& line) { return complete_line(s, line); });
        history_ = s.how().history.value_or(usual_history_file());
        if (!history_.empty()) editor_->buffer().set_history(read_history(history_));
    }
    line_source(const line_source&) = delete;
    line_source& operator=(const line_source&) = delete;
    ~line_source() {
        if (editor_ && !history_.empty()) write_history(history_, editor_->buffer().history());
    }

    std::optional<std::string> next() {
        if (editor_) return editor_->read_line(session_.interrupted());
        std::string line;
        return std::getline(std::cin, line) ? std::optional(line) : std::nullopt;
    }

private:
    command_session& session_;
    std::unique_ptr<line_editor> editor_;
    std::string history_;
};

}  // namespace

int run_shell(command_session& s) {
    const options& of_shell = s.how();  // those of the connection, which stay valid when a line has options of its own
    line_source lines(s);
    change_reporter changes(s);
    int status = exit_status::ok;
    while (auto line = lines.next()) {
        std::vector<std::string> words = split_line(*line);
        std::erase(words, "");
        if (words.empty() || words[0].starts_with('#')) continue;
        if (words[0] == "exit" || words[0] == "quit") break;
        status = run_line(s, words, of_shell);
        // Ctrl-C cancels the call, not the shell. Other signals end it.
        if (s.signal() == SIGINT) s.rearm_interrupts();
        else if (s.signal() != 0) break;
    }
    return s.signal() != 0 ? exit_status::by_signal + s.signal() : status;
}

}  // namespace keel::command
