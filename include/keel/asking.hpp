#pragma once

// Results of the requests that a handler sends to its client (context::elicit, context::elicit_url).

#include <keel/describe.hpp>
#include <keel/sampling.hpp>

#include <string>

namespace keel::inline KEEL_ABI {

enum class elicit_action : unsigned char { accept, decline, cancel };

/// The answer to a form. `value` is meaningful only if the user accepted.
template <class T>
struct elicited {
    elicit_action action = elicit_action::cancel;
    T value = {};

    elicited() = default;
    /// True if the user accepted: `if (auto trip = co_await ctx.elicit<trip>(…))`.
    explicit operator bool() const noexcept { return action == elicit_action::accept; }
    const T& operator*() const noexcept { return value; }
    const T* operator->() const noexcept { return &value; }
};

/// The answer to a URL elicitation. Accepted means that the user agreed to open the URL, not that anything happened there.
struct KEEL_API url_elicited {
    elicit_action action = elicit_action::cancel;
    std::string id = {};  // revision 2025-11-25: for context::url_elicitation_complete

    url_elicited() = default;
    explicit operator bool() const noexcept { return action == elicit_action::accept; }
};

namespace detail {

/// Throws keel::error: the client's answer does not have the expected type.
[[noreturn]] KEEL_API void throw_bad_answer(const decode_error&);

template <class T>
T decode_answer(const json::value& from) {
    T into{};
    decode_error e;
    if (!keel::decode(from, into, e)) throw_bad_answer(e);
    return into;
}

}  // namespace detail

}  // namespace keel
