#pragma once

// Base64 into a buffer that exists already; keel/base64.hpp has the forms that return strings.

#include <keel/base64.hpp>

#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::protocol {

enum class base64_form : unsigned char {
    padded,  // the usual alphabet, padded with '='
    url,     // '-' and '_' for '+' and '/', no padding
};

void append_base64(std::string& out, std::string_view bytes, base64_form = base64_form::padded);

/// Appends the bytes. False (and nothing appended) when `text` is not what append_base64 would write for any bytes.
[[nodiscard]] bool append_base64_decoded(std::string& out, std::string_view text, base64_form = base64_form::padded);

}  // namespace keel::protocol
