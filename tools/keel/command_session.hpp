#pragma once

// One run of a command: the connection to the server and the terminal.

#include "console.hpp"
#include "elicitation.hpp"
#include "interrupts.hpp"
#include "options.hpp"
#include "unexpected_output.hpp"

#include <keel/blocking_client.hpp>

#include <atomic>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace keel::command {

class command_session {
public:
    /// Throws usage_error or std::invalid_argument if the options are invalid.
    explicit command_session(const options& o);

    /// The options of the running command.
    const options& how() const noexcept { return *how_; }
    /// `keel shell` runs several commands; each has options of its own, which must outlive its run.
    void use(const options& o) noexcept { how_ = &o; }
    blocking_client& client() noexcept { return client_; }
    console& screen() noexcept { return console_; }
    int signal() const noexcept { return interrupts_.caught(); }
    std::stop_token interrupted() const { return interrupts_.token(); }
    void rearm_interrupts() { interrupts_.rearm(); }

    void connect();
    /// The server's address or program, printable.
    const std::string& where() const noexcept { return where_; }
    /// Output of the server that is not an MCP message, received while connecting.
    const unexpected_output& unexpected() const noexcept { return unexpected_; }
    /// Options of a call: cancelled by Ctrl-C, with --timeout, showing progress.
    call_options call();

    /// A text that is added to the message if the command fails: "; did you mean X?".
    void set_hint(std::string text) { hint_ = std::move(text); }
    const std::string& hint() const noexcept { return hint_; }

private:
    client_options settings();
    void heard(const server_log& message);
    void remark(log_level level, std::string_view text);  // log messages of the library

    const options& options_;  // of the connection
    const options* how_;
    interrupts interrupts_;  // first: threads inherit its signal mask
    console console_;
    std::atomic<bool> connected_{false};
    unexpected_output unexpected_;
    duration probe_timeout_{};
    std::string where_;
    std::string hint_;
    asker asker_;
    blocking_client client_;  // last: its threads use all members above
};

/// Writes to standard output. Throws output_error.
void write_out(std::string_view text);
void write_json(const json::value& v);
/// Columns of the terminal; 0 if it is not a terminal.
std::size_t out_columns();
/// True for a terminal if colors_wanted().
bool out_has_colors();

}  // namespace keel::command
