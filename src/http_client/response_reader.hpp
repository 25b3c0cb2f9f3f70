#pragma once

// HTTP/1.0 and 1.1 responses out of bytes, however they are cut. No I/O: whoever owns the socket feeds what it has read.

#include "http/chunk_reader.hpp"
#include "http/head_parser.hpp"
#include "http_client/transfer.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

/// Reads one response after the other. What two readers may understand differently is refused rather than interpreted: both
/// lengths, two that differ, codings other than chunked, folded lines, line ends that are not CRLF, control characters.
///
///     while (true) switch (reader.next(bytes)) { … }
///
/// What comes out does not depend on how the bytes were cut, except that a body may come in more pieces.
class response_reader {
public:
    enum class event : std::uint8_t {
        more,  // everything was taken, and more is needed
        head,  // status() and headers() are there. Not of 1xx.
        body,  // piece() is some of it
        end,   // the response is complete; what is left of the bytes does not belong to it
        bad,   // why() says so. There is no going on.
    };
    /// To which request it is the response: that decides whether there is a body.
    enum class request_kind : std::uint8_t { usual, head, connect };

    explicit response_reader(std::size_t max_head);
    response_reader(const response_reader&) = delete;
    response_reader& operator=(const response_reader&) = delete;

    /// Forgets everything; the next byte is the first of a response.
    void start(request_kind kind);
    /// Takes bytes from the front of `bytes` up to the next event.
    event next(std::string_view& bytes);
    /// No more bytes will come: `end` when that is what completes the response, else `more`.
    event end_of_input() noexcept;

    /// At least one byte has come.
    bool begun() const noexcept { return begun_; }
    // From event head on.
    int status() const noexcept { return status_; }
    const header_list& headers() const noexcept { return headers_; }
    /// The connection may be used for another request once this response is complete.
    bool keep_alive() const noexcept { return keep_alive_; }
    /// What the server says about how long it keeps an idle connection.
    std::optional<std::chrono::seconds> idle_time() const noexcept { return idle_time_; }
    /// How much of the body is still to come, if that is known.
    std::optional<std::uint64_t> left() const noexcept;

    std::string_view piece() const noexcept { return piece_; }
    const char* why() const noexcept { return why_; }
    /// Bytes of input that are kept now.
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
    header_list spare_;  // strings of earlier headers, for their memory
    std::string kept_;   // of a head that came in pieces
    http::chunk_reader chunks_;
    std::string_view piece_;
    const char* why_ = "";
    std::optional<std::chrono::seconds> idle_time_;

    std::size_t spent_ = 0;  // bytes of 1xx before this head: together they are bounded
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
