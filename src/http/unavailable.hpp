#pragma once

// The answers to requests that may succeed later: 503 if the server is shutting down or a limit of the server or of the connection is
// reached, 429 if a quota of the client is reached.

#include "rpc/message.hpp"

namespace keel::inline KEEL_ABI::http {

struct unavailable {
    rpc::failure error;
    std::string_view headers;  // Retry-After
    int status = 503;
};

inline unavailable shutting_down() { return {rpc::shutting_down_error(), "Retry-After: 5\r\n"}; }
inline unavailable too_many_requests() { return {rpc::overloaded_error(), "Retry-After: 1\r\n"}; }
inline unavailable too_many_connections() {
    return {rpc::overloaded_error("too many connections are open"), "Retry-After: 5\r\n"};
}
inline unavailable too_many_streams() {
    return {rpc::overloaded_error("too many streams are open"), "Retry-After: 10\r\n"};
}
inline unavailable low_memory() {
    return {rpc::overloaded_error("the server has too much unread data"), "Retry-After: 5\r\n"};
}
inline unavailable too_many_sessions() {
    return {rpc::overloaded_error("too many sessions are open"), "Retry-After: 10\r\n"};
}

inline unavailable too_many_connections_of_client() {
    return {rpc::overloaded_error("too many connections of this client are open"), "Retry-After: 5\r\n", 429};
}
inline unavailable too_many_sessions_of_client() {
    return {rpc::overloaded_error("too many sessions of this client are open"), "Retry-After: 10\r\n", 429};
}
inline unavailable too_many_requests_of_client() {
    return {rpc::overloaded_error("too many requests of this client are in flight"), "Retry-After: 1\r\n", 429};
}

}  // namespace keel::http
