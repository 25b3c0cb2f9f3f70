#pragma once

// Splits the HTTP/1.1 text of one response, as this library writes it, into status, headers and body.

#include "http_common/chunk_reader.hpp"
#include "http_common/head_parser.hpp"

#include <keel/http_mount.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

/// The input is our own output: anything unexpected is an error of this library, and makes `next` return `bad`.
class response_splitter {
public:
    enum class event : std::uint8_t { more, head, body, end, bad };

    /// `head_only`: the response to a HEAD request has no body.
    explicit response_splitter(bool head_only);

    /// Removes input from the front of `bytes` up to the next event.
    event next(std::string_view& bytes);
    int status() const noexcept { return status_; }
    /// Without the headers about the connection.
    const http_headers& headers() const noexcept { return headers_; }
    std::string_view piece() const noexcept { return piece_; }

private:
    enum class state : std::uint8_t { head, sized, chunked, ended };

    bool read_head();

    std::string head_;
    head_end_finder finder_;
    chunk_reader chunks_;
    http_headers headers_;
    std::string_view piece_;
    std::uint64_t left_ = 0;
    int status_ = 0;
    state state_ = state::head;
    const bool head_only_;
};

}  // namespace keel::http
