#pragma once

// The answers with status 503: the server is shutting down, or a limit is reached.

#include "rpc/message.hpp"

namespace keel::inline KEEL_ABI::http {

struct unavailable {
    static constexpr int status = 503;
    rpc::failure error;
    std::string_view headers;  // Retry-After
};

inline unavailable shutting_down() { return {rpc::shutting_down_error(), "Retry-After: 5\r\n"}; }
inline unavailable too_many_requests() { return {rpc::overloaded_error(), "Retry-After: 1\r\n"}; }
inline unavailable too_many_streams() {
    return {rpc::overloaded_error("too many streams are open"), "Retry-After: 10\r\n"};
}
inline unavailable low_memory() {
    return {rpc::overloaded_error("the server has too much unread data"), "Retry-After: 5\r\n"};
}
inline unavailable too_many_sessions() {
    return {rpc::overloaded_error("too many sessions are open"), "Retry-After: 10\r\n"};
}

}  // namespace keel::http
