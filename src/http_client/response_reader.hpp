#pragma once

// An incremental parser for HTTP/1.0 and 1.1 responses. No I/O: the caller feeds the bytes it has read.

#include "http_client/transfer.hpp"
#include "http_common/chunk_reader.hpp"
#include "http_common/head_parser.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

/// Reads a sequence of responses. Ambiguous input is rejected: Content-Length together with Transfer-Encoding, conflicting lengths,
/// codings other than chunked, folded lines, line ends other than CRLF, control characters.
///
///     while (true) switch (reader.next(bytes)) { … }
///
/// The events do not depend on how the input is split, except that a body may come in more pieces.
class response_reader {
public:
    enum class event : std::uint8_t {
        more,  // all input was consumed, more is needed
        head,  // status() and headers() are valid; not for 1xx
        body,  // piece() is a part of the body
        end,   // the response is complete; the remaining input does not belong to it
        bad,   // invalid input: why() is the reason; final
    };
    /// The kind of request, which decides whether the response has a body.
    enum class request_kind : std::uint8_t { usual, head, connect };

    explicit response_reader(std::size_t max_head);
    response_reader(const response_reader&) = delete;
    response_reader& operator=(const response_reader&) = delete;

    /// Resets the reader; the next byte is the first of a response.
    void start(request_kind kind);
    /// Consumes `bytes` from the front up to the next event.
    event next(std::string_view& bytes);
    /// The input has ended: returns `end` if that completes the response, else `more`.
    event end_of_input() noexcept;

    /// True if at least one byte was read.
    bool begun() const noexcept { return begun_; }
    // Valid from event head on:
    int status() const noexcept { return status_; }
    const header_list& headers() const noexcept { return headers_; }
    /// True if the connection can be reused after this response.
    bool keep_alive() const noexcept { return keep_alive_; }
    /// How long the server keeps an idle connection (Keep-Alive: timeout).
    std::optional<std::chrono::seconds> idle_time() const noexcept { return idle_time_; }
    /// Remaining bytes of the body, if known.
    std::optional<std::uint64_t> left() const noexcept;

    std::string_view piece() const noexcept { return piece_; }
    const char* why() const noexcept { return why_; }
    /// Number of buffered input bytes.
    std::size_t memory() const noexcept { return kept_.size(); }

private:
    enum class state : std::uint8_t { head, sized, chunked, until_close, complete, refused };

    event take_head(std::string_view& bytes);
    std::size_t find_head_end(std::string_view text);
    bool parse_head(std::string_view text);
    bool parse_status_line(std::string_view line);
    bool add_header(std::string_view name, std::string_view value);
    bool note_header(std::string_view name, std::string_view value);
    bool note_length(std::string_view value);
    bool decide_body();
    event take_sized(std::string_view& bytes);
    event take_chunked(std::string_view& bytes);
    void clear_headers();
    bool refuse(const char* why) noexcept;

    const std::size_t max_head_;
    header_list headers_;
    header_list spare_;  // strings of earlier headers, kept for their memory
    std::string kept_;   // an incomplete head
    http::chunk_reader chunks_;
    std::string_view piece_;
    const char* why_ = "";
    std::optional<std::chrono::seconds> idle_time_;

    std::size_t spent_ = 0;  // bytes of 1xx heads before this one; limited together
    http::head_end_finder end_finder_;
    std::uint64_t remaining_ = 0;
    std::uint64_t length_ = 0;

    int status_ = 0;
    unsigned minor_ = 1;
    state state_ = state::head;
    request_kind kind_ = request_kind::usual;
    bool begun_ = false;
    bool keep_alive_ = true;
    bool says_close_ = false;
    bool says_keep_alive_ = false;
    bool has_length_ = false;
    bool has_coding_ = false;
};

}  // namespace keel::http_client
