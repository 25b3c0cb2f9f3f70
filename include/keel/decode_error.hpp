#pragma once

// Where a JSON value does not fit, and why.

#include <string>

namespace keel {

/// Where a value did not fit and why: `arguments.items[2].name` and `expected string, found integer`.
struct decode_error {
    std::string path;
    std::string text;

    /// Both: `arguments.items[2].name: expected string, found integer`.
    std::string message() const;
};

}  // namespace keel
