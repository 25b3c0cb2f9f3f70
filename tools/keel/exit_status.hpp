#pragma once

// What the command tells the one who started it.

#include <stdexcept>
#include <string>

namespace keel::command {

class nonsense;

namespace exit_status {
inline constexpr int ok = 0;
inline constexpr int tool_failed = 1;
inline constexpr int usage = 2;     // a wrong command line
inline constexpr int rejected = 3;  // the server answered with an error, or does not offer such a thing
inline constexpr int lost = 4;      // it could not be reached, was lost, or does not speak the protocol
inline constexpr int timed_out = 5;
inline constexpr int cannot_write = 74;
inline constexpr int by_signal = 128;  // and its number
}  // namespace exit_status

/// A wrong command line, found out before or while it is carried out.
class usage_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct failure {
    int status = exit_status::lost;
    std::string text = {};  // "": there is nobody to be told
    std::string json = {};  // what the server rejected the request with; "": nothing
};

/// Of the exception that is being handled.
failure describe_failure();
/// The same, of one that was thrown before the server had introduced itself.
failure describe_failed_connect(const std::string& where, const nonsense& heard);

}  // namespace keel::command
