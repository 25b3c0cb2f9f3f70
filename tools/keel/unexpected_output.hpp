#pragma once

// Output of a program that is not an MCP message, collected while keel connects. It explains why connecting failed.

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace keel::command {

/// Collects the library's reports about invalid lines. Thread-safe.
class unexpected_output {
public:
    void add(std::string_view report);
    /// "it wrote 3 lines that are not MCP messages, the first: …", or "" if there were none.
    std::string text() const;
    /// The error of the first invalid line, or "".
    std::string first() const;

private:
    mutable std::mutex mutex_;
    std::size_t lines_ = 0;
    std::string first_;
    bool echoes_ = false;
};

}  // namespace keel::command
