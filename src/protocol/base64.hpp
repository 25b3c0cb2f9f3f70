#pragma once

// Base64 that appends to an existing buffer; keel/base64.hpp has the functions that return strings.

#include <keel/base64.hpp>

#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::protocol {

enum class base64_form : unsigned char {
    padded,  // the standard alphabet, padded with '='
    url,     // '-' and '_' for '+' and '/', no padding
};

void append_base64(std::string& out, std::string_view bytes, base64_form = base64_form::padded);

/// Appends the decoded bytes. Returns false, and appends nothing, if `text` is not canonical Base64.
[[nodiscard]] bool append_base64_decoded(std::string& out, std::string_view text, base64_form = base64_form::padded);

}  // namespace keel::protocol
