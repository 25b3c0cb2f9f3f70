#pragma once

// The access log of an HTTP server: one entry for each HTTP request.
//
//     http_options options;
//     options.access_log = keel::access_log_to(std::make_shared<keel::log_file>("/var/log/greeter/access.log"));

#include <keel/log.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI {

/// One HTTP request and its response, without their contents. The texts are valid during the call only; unknown ones are empty.
struct KEEL_API access_entry {
    std::chrono::system_clock::time_point time = {};  // of the end
    std::string_view http_method = {};
    std::string_view path = {};  // without the query
    /// The JSON-RPC method; "batch" for several messages, "response" for an answer of the client, "other" for unknown methods.
    std::string_view method = {};
    std::string_view tool = {};       // of tools/call, if the tool exists
    int status = 0;                   // 0: the client disconnected before the response began
    std::uint64_t bytes_in = 0;       // of the body
    std::uint64_t bytes_out = 0;      // of the response, with its head; what the client did not read included
    std::chrono::nanoseconds took{};  // from the end of the head of the request to the end of the response
    std::string_view principal = {};
    std::string_view address = {};   // of the client
    std::string_view revision = {};  // of the protocol: MCP-Protocol-Version
};

/// Called for each entry, on any of the loops; must not block or throw.
using access_log = std::function<void(const access_entry&)>;

/// Appends the entry as one line, without a line end, as append_log_line does.
KEEL_API void append_access_line(std::string& out, const access_entry& entry, log_format format);

/// An access log that writes to a file. After entries were dropped (log_file), the next line says how many.
KEEL_API access_log access_log_to(std::shared_ptr<log_file> file, log_format format = log_format::text);

}  // namespace keel
