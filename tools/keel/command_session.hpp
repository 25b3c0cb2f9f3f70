#pragma once

// One run of a command: the connection to the server and the terminal.

#include "console.hpp"
#include "elicitation.hpp"
#include "interrupts.hpp"
#include "options.hpp"
#include "unexpected_output.hpp"

#include <keel/blocking_client.hpp>

#include <atomic>
#include <string>
#include <string_view>

namespace keel::command {

class command_session {
public:
    /// Throws usage_error or std::invalid_argument if the options are invalid.
    explicit command_session(const options& o);

    const options& how() const noexcept { return options_; }
    blocking_client& client() noexcept { return client_; }
    console& screen() noexcept { return console_; }
    int signal() const noexcept { return interrupts_.caught(); }

    void connect();
    /// The server's address or program, printable.
    const std::string& where() const noexcept { return where_; }
    /// Output of the server that is not an MCP message, received while connecting.
    const unexpected_output& unexpected() const noexcept { return unexpected_; }
    /// Options of a call: cancelled by Ctrl-C, with --timeout, showing progress.
    call_options call();

private:
    client_options settings();
    void heard(const server_log& message);
    void remark(log_level level, std::string_view text);  // log messages of the library

    const options& options_;
    interrupts interrupts_;  // first: threads inherit its signal mask
    console console_;
    std::atomic<bool> connected_{false};
    unexpected_output unexpected_;
    duration probe_timeout_{};
    std::string where_;
    asker asker_;
    blocking_client client_;  // last: its threads use all members above
};

/// Writes to standard output. Throws output_error.
void write_out(std::string_view text);
void write_json(const json::value& v);
/// Columns of the terminal; 0 if it is not a terminal.
std::size_t out_columns();

}  // namespace keel::command
