#pragma once

// The entry of the current HTTP request of a connection in the access log.

#include "http_common/head_parser.hpp"
#include "http_common/ip_address.hpp"
#include "rpc/message.hpp"

#include <keel/access_log.hpp>
#include <keel/loop.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace keel::inline KEEL_ABI::server_side {
class server_core;
}

namespace keel::inline KEEL_ABI::http {

/// What the access log tells about a message.
struct message_names {
    std::string method;
    std::string tool;

    /// Only names that the server knows are kept: the others may be contents.
    static message_names of(const rpc::message& m, const server_side::server_core& server);
};

/// Lives as long as its connection, and only if there is an access log. Has copies: the request is gone when the response ends.
class access_record {
public:
    explicit access_record(const access_log& to) : to_(to) {}

    /// A request begins. Ignored if it has begun already.
    void begin(const request& r);
    /// The same for a request that could not be parsed.
    void begin();
    void set_body(std::size_t bytes) noexcept { now_.bytes_in = bytes; }
    /// The message in the body. Called again when the server of the client is known, if it has its own (http_options::server_for).
    void set_message(message_names names) { now_.message = std::move(names); }
    void set_batch() { now_.message.method = "batch"; }
    void set_status(int status) noexcept { now_.status = status; }

    // Output is measured as the growth of the connection's buffer.
    void before_output(std::size_t waiting) noexcept { now_.mark = waiting; }
    void after_output(std::size_t waiting) noexcept { now_.bytes_out += waiting - now_.mark; }

    /// The response is complete, or the connection is lost. Writes the entry, if a request has begun.
    void end(std::string_view principal, const ip_address& client);

private:
    struct fields {
        std::chrono::steady_clock::time_point since{};
        std::string http_method;
        std::string path;
        message_names message;
        std::string_view revision;
        int status = 0;
        std::size_t bytes_in = 0;
        std::size_t bytes_out = 0;
        std::size_t mark = 0;
    };

    const access_log& to_;
    bool begun_ = false;
    fields now_;  // of the current request
};

}  // namespace keel::http
