#pragma once

// Decoding the result of a request to the server.

#include <keel/decode_error.hpp>
#include <keel/describe.hpp>
#include <keel/error.hpp>
#include <keel/json.hpp>

namespace keel::inline KEEL_ABI::client_side {

/// Throws keel::error if the result does not have that type.
template <class Result>
Result read_result(const json::value& from) {
    Result into{};
    decode_error why;
    if (!decode(from, into, why, "result")) {
        throw keel::error(error_kind::bad_message, "invalid result from the server: " + why.message());
    }
    return into;
}

}  // namespace keel::client_side
