#pragma once

#include <keel/version.hpp>

#include <string_view>

namespace keel::inline KEEL_ABI::http {

/// For example "Not Found"; "Unknown" for an unknown status.
std::string_view reason_phrase(int status) noexcept;

}  // namespace keel::http
