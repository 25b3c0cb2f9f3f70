#pragma once

// Exit statuses and error messages.

#include <stdexcept>
#include <string>

namespace keel::command {

class unexpected_output;

namespace exit_status {
inline constexpr int ok = 0;
inline constexpr int tool_failed = 1;
inline constexpr int usage = 2;     // invalid command line
inline constexpr int rejected = 3;  // the server responded with an error, or does not support the feature
inline constexpr int lost = 4;      // the server is unreachable, closed the connection, or does not speak MCP
inline constexpr int timed_out = 5;
inline constexpr int cannot_write = 74;
inline constexpr int by_signal = 128;  // plus the signal number
}  // namespace exit_status

/// An invalid command line, detected before or while the command runs.
class usage_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct failure {
    int status = exit_status::lost;
    std::string text = {};  // empty if nothing is to be printed
    std::string json = {};  // the JSON-RPC error of the server; empty if there is none
    int http_status = 0;    // of a refused HTTP request
    bool internal = false;  // the server reported an internal error
};

/// Describes the exception that is currently handled.
failure describe_failure();
/// The same for an exception thrown before the server was connected.
failure describe_failed_connect(const std::string& where, const unexpected_output& heard);

}  // namespace keel::command
