#pragma once

// Where a JSON value does not fit, and why.

#include <keel/version.hpp>

#include <string>

namespace keel::inline KEEL_ABI {

/// Where a value did not fit and why: `arguments.items[2].name` and `expected string, found integer`.
struct KEEL_API decode_error {
    std::string path;
    std::string text;

    /// Both: `arguments.items[2].name: expected string, found integer`.
    std::string message() const;
};

}  // namespace keel
