#pragma once

// What the command tells the one who started it.

#include <exception>
#include <stdexcept>
#include <string>

namespace keel::command {

namespace exit_status {
inline constexpr int ok = 0;
inline constexpr int tool_failed = 1;
inline constexpr int usage = 2;     // a wrong command line
inline constexpr int rejected = 3;  // the server answered with an error
inline constexpr int lost = 4;      // it could not be reached, was lost, or does not speak the protocol
inline constexpr int timed_out = 5;
inline constexpr int cannot_write = 74;
inline constexpr int by_signal = 128;  // and its number
}  // namespace exit_status

/// A wrong command line, found out while it was carried out.
class usage_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct failure {
    int status = exit_status::lost;
    std::string text = {};
    std::string json = {};  // what the server rejected the request with; "": nothing
};

/// Of the exception that is being handled.
failure describe_failure();

}  // namespace keel::command
