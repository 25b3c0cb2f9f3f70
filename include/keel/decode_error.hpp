#pragma once

// Why a JSON value could not be decoded or is invalid.

#include <keel/version.hpp>

#include <string>

namespace keel::inline KEEL_ABI {

/// The position and cause of an error in a JSON value: `arguments.items[2].name` and `expected string, found integer`.
struct KEEL_API decode_error {
    std::string path;
    std::string text;

    /// Path and text: `arguments.items[2].name: expected string, found integer`.
    std::string message() const;
};

}  // namespace keel
