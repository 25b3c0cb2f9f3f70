#include "command_session.hpp"

#include "output_error.hpp"
#include "printable.hpp"
#include "progress_bar.hpp"
#include "target.hpp"

#include <keel/version.hpp>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <unistd.h>

namespace keel::command {

namespace {

std::string line_of(log_level level, std::string_view who, std::string_view text) {
    return "[" + std::string(name_of(level)) + "] " + (who.empty() ? "" : printable_line(who) + ": ") +
           printable_line(text);
}

}  // namespace

command_session::command_session(const options& o)
    : options_(o), how_(&o), console_(STDERR_FILENO), where_(target_of(o).describe()),
      asker_(console_, where_, [this] { return interrupts_.token(); }), client_(target_of(o), settings()) {}

client_options command_session::settings() {
    client_options s;
    probe_timeout_ = s.probe_timeout;
    s.about.name = "keel";
    s.about.version = KEEL_VERSION;
    s.about.title = "The keel command";
    if (options_.protocol == "legacy") s.mode = protocol_mode::legacy;
    else if (options_.protocol == "modern") s.mode = protocol_mode::modern;
    else if (options_.protocol != "auto") {
        s.mode = options_.protocol < "2026" ? protocol_mode::legacy : protocol_mode::modern;
        s.version = options_.protocol;
    }
    if (options_.timeout) s.connect_timeout = *options_.timeout;
    if (options_.connect_timeout) s.connect_timeout = *options_.connect_timeout;
    if (options_.max_message) s.limits.max_message = *options_.max_message;
    s.level = options_.level;
    if (asker_.there() && !options_.no_input) {
        // Ctrl-C cancels the whole call: its question is withdrawn, not answered.
        s.on_form = [this](const asked_by& who, const form_question& q) {
            form_answer answer = asker_.ask_form(who, q);
            asker_.wait_if_interrupted(who);
            return answer;
        };
        s.on_url = [this](const asked_by& who, const url_question& q) {
            elicit_action answer = asker_.ask_url(who, q);
            asker_.wait_if_interrupted(who);
            return answer;
        };
        // The user may take long to answer, and can press Ctrl-C.
        s.limits.request_idle = s.limits.request_total;
    }
    s.on_log = [this](const server_log& message) { heard(message); };
    s.log = [this](log_level level, std::string_view text) { remark(level, text); };
    if (options_.verbose) {
        s.on_stderr = [this, rest = std::string()](std::string_view text) mutable {
            rest += text;
            for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
                console_.say(printable(rest.substr(0, end)));
                rest.erase(0, end + 1);
            }
            if (rest.size() > 64 * 1024) {  // a line without an end
                console_.say(printable(rest));
                rest.clear();
            }
        };
    }
    return s;
}

void command_session::connect() {
    auto begin = std::chrono::steady_clock::now();
    client_.connect(interrupts_.token());
    connected_ = true;
    // A server of 2026-07-28 sends no log messages unless they are requested; others send all.
    if (!options_.level && client_.server().modern) client_.set_log_level(log_level::warning);
    auto took = std::chrono::steady_clock::now() - begin;
    // A legacy server that does not answer the version probe costs its timeout on every connect.
    bool waited = options_.protocol == "auto" && options_.url.empty() && took >= probe_timeout_;
    if (!waited || client_.server().modern || !(console_.is_terminal() || options_.verbose)) return;
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(probe_timeout_).count();
    console_.say("keel: this server did not answer the version probe; --protocol legacy saves " +
                 std::to_string(seconds) + " s");
}

void command_session::heard(const server_log& message) {
    if (message.level < options_.level.value_or(log_level::warning)) return;
    auto text = message.data.if_string();
    console_.say(line_of(message.level, message.logger, text ? std::string(*text) : json::to_string(message.data)));
}

void command_session::remark(log_level level, std::string_view text) {
    // A failed connect is reported once, at the end.
    if (!connected_) unexpected_.add(text);
    if (!connected_ && !options_.verbose) return;
    if (level >= options_.level.value_or(log_level::warning)) console_.say(line_of(level, "keel", text));
}

call_options command_session::call() {
    call_options how(interrupts_.token());
    if (how_->timeout) how.idle = how.total = *how_->timeout;
    if (console_.is_terminal()) {
        how.on_progress = [this](const progress_report& report) {
            console_.show_status(progress_line(report, terminal_columns(STDERR_FILENO)));
        };
    }
    return how;
}

void write_out(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw output_error(errno);
}

void write_json(const json::value& v) { write_out(json::to_string(v) + "\n"); }

std::size_t out_columns() { return terminal_columns(STDOUT_FILENO); }

bool out_has_colors() { return out_columns() != 0 && colors_wanted(); }

}  // namespace keel::command
