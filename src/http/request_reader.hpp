#pragma once

// HTTP/1.0 and 1.1 requests out of bytes, however they are cut. No I/O: whoever owns the socket feeds what it has read.

#include "http/chunk_reader.hpp"
#include "http/head_parser.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::http {

struct reader_limits {
    std::size_t max_head = 16 * 1024;  // request line and headers, with their line ends; the same for trailers
    std::size_t max_target = 8 * 1024;
    std::size_t max_headers = 100;
    std::size_t max_body = 4 * 1024 * 1024;
};

/// Reads one request after the other. What servers in a chain may understand differently is refused rather than
/// interpreted: two lengths, unknown codings, folded lines, line ends that are not CRLF.
///
/// The outcome never depends on how the bytes were cut. Nothing is copied when a request with a Content-Length lies
/// whole in the bytes of one call.
class request_reader {
public:
    enum class state : std::uint8_t { head, body, complete, refused };

    struct refusal {
        int status = 0;
        const char* reason = "";
    };

    explicit request_reader(const reader_limits& = {});
    request_reader(const request_reader&) = delete;
    request_reader& operator=(const request_reader&) = delete;

    /// Takes bytes up to the end of one request and says how many: the rest belongs to the next one. Nothing is taken
    /// once a request is complete; everything is taken, and thrown away, once one was refused.
    std::size_t feed(std::string_view bytes);

    state at() const noexcept { return state_; }
    /// At least one byte of a request has come. Empty lines in front of it do not count.
    bool begun() const noexcept { return begun_; }
    /// The client waits for "100 Continue" before it sends the body. True after one call of feed at most, so a caller
    /// that looks after each call answers once.
    bool wants_continue() const noexcept { return wants_continue_ && state_ == state::body; }

    /// From state body on; the body is empty until the request is complete.
    const request& head() const noexcept { return request_; }
    /// The whole request, in state complete.
    const request& get() const noexcept { return request_; }
    /// In state refused: what to answer. The connection must be closed then, because where the next request begins is
    /// anybody's guess.
    const refusal& why() const noexcept { return refusal_; }

    /// Forgets the request. Keeps its memory for the next one, unless it was a large one.
    void next();
    /// Gives back all memory, for the time of a long answer or a long wait: the views of a complete request are gone.
    /// Nothing happens while a request is being read.
    void release_memory();
    /// Bytes that are kept now, for whoever wants to know what a connection costs.
    std::size_t memory() const noexcept;

private:
    enum class framing : std::uint8_t { none, sized, chunked };

    std::size_t skip_empty_lines(std::string_view bytes);
    std::size_t take_head(std::string_view bytes);
    std::size_t find_head_end(std::string_view text);
    void parse_head(std::string_view text);
    void refuse_head(head_error why);
    bool split_target();
    std::size_t take_sized(std::string_view bytes);
    std::size_t take_chunked(std::string_view bytes);
    void refuse_chunk(chunk_reader::event why);
    void keep_head();
    void refuse(int status, const char* reason);
    void forget();

    reader_limits limits_;
    request request_;
    std::vector<header> headers_;
    std::string_view head_text_;  // where the views of the head point to: the caller's bytes or kept_head_
    std::string kept_head_;
    std::string kept_body_;
    refusal refusal_;

    head_end_finder end_finder_;
    std::size_t lines_ = 0;        // complete ones, the request line included
    std::uint64_t remaining_ = 0;  // of the body
    chunk_reader chunks_;

    state state_ = state::head;
    framing framing_ = framing::none;
    std::uint8_t empty_lines_ = 0;  // bytes of them
    bool begun_ = false;
    bool wants_continue_ = false;
};

}  // namespace keel::http
