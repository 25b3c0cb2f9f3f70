#pragma once

// One run of a command: the server, the terminal, and what connects the two.

#include "console.hpp"
#include "interrupts.hpp"
#include "nonsense.hpp"
#include "options.hpp"
#include "questions.hpp"

#include <keel/blocking_client.hpp>

#include <atomic>
#include <string>
#include <string_view>

namespace keel::command {

class session {
public:
    /// Throws usage_error, std::invalid_argument.
    explicit session(const options& o);

    const options& how() const noexcept { return options_; }
    blocking_client& client() noexcept { return client_; }
    console& screen() noexcept { return console_; }
    int signal() const noexcept { return interrupts_.caught(); }

    /// Starts or reaches the server.
    void connect();
    /// Its name for people.
    const std::string& where() const noexcept { return where_; }
    /// What it said instead of introducing itself.
    const nonsense& misheard() const noexcept { return nonsense_; }
    /// How a call is to be made: it ends with Ctrl-C, after --timeout, and tells how far it is.
    call_options call();

private:
    client_options settings();
    void heard(const server_log& message);
    void remark(log_level level, std::string_view text);  // of the library

    const options& options_;
    interrupts interrupts_;  // first: threads that are made later inherit its mask
    console console_;
    std::atomic<bool> connected_{false};
    nonsense nonsense_;
    duration probe_timeout_{};
    std::string where_;
    asker asker_;
    blocking_client client_;  // last: its threads use everything above
};

/// Standard output. What cannot be written there ends the command with a status of its own.
void write_out(std::string_view text);
void write_json(const json::value& v);
/// Columns of the terminal; 0: it is none.
std::size_t out_columns();

}  // namespace keel::command
