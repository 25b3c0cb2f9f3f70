#pragma once

// Reads HTTP/1.0 and 1.1 requests from input split at any byte. No I/O: the caller feeds the bytes it has read.

#include "async/input_buffer.hpp"
#include "http_common/chunk_reader.hpp"
#include "http_common/head_parser.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::http {

struct reader_limits {
    std::size_t max_head =
        16 * 1024;  // request line and headers with their line ends; the same limit applies to trailers
    std::size_t max_target = 8 * 1024;
    std::size_t max_headers = 100;
    std::size_t max_body = 4 * 1024 * 1024;
};

/// Reads one request after the other. Refuses everything that two servers in a chain could interpret differently (request
/// smuggling): two lengths, unknown codings, folded lines, line ends other than CRLF.
///
/// The result does not depend on how the input was split. A request with Content-Length that is complete in one call is
/// not copied.
class request_reader {
public:
    enum class state : std::uint8_t { head, body, complete, refused };

    struct refusal {
        int status = 0;
        const char* reason = "";
    };

    explicit request_reader(const reader_limits& = {}, async::spare_buffers* spares = nullptr);
    request_reader(const request_reader&) = delete;
    request_reader& operator=(const request_reader&) = delete;

    /// Consumes bytes up to the end of one request and returns their number; the rest belongs to the next request. Consumes nothing in
    /// state `complete`; consumes and discards everything in state `refused`.
    ///
    /// `stop_at_body`: stops at the end of the head, in state `body`, if the body is incomplete or chunked. The caller can then refuse the
    /// request before its body is buffered, or continue.
    std::size_t feed(std::string_view bytes, bool stop_at_body = false);

    state at() const noexcept { return state_; }
    /// At least one byte of a request was received. Empty lines before it do not count.
    bool begun() const noexcept { return begun_; }
    /// The client waits for "100 Continue" before it sends the body. True after at most one call of feed, so a caller that checks
    /// after each call responds once.
    bool wants_continue() const noexcept { return wants_continue_ && state_ == state::body; }

    /// From state body on; the body is empty until the request is complete.
    const request& head() const noexcept { return request_; }
    /// The whole request, in state complete.
    const request& get() const noexcept { return request_; }
    /// In state `refused`: the response to send. The connection must then be closed, because the start of the next request is
    /// unknown.
    const refusal& why() const noexcept { return refusal_; }

    /// Where to read the next bytes of a large body of known length; empty if there is none. feed then gets a view of the start.
    std::span<char> room();
    /// The body of a complete request, which may be overwritten; empty if the body is in the memory of the caller of feed.
    std::span<char> kept_body() noexcept {
        return state_ == state::complete ? kept_body_.writable() : std::span<char>();
    }
    /// The body of a complete request is not needed any more.
    void release_body();

    /// Prepares for the next request. Keeps the buffers unless they are large.
    void next();
    /// Frees all buffers, for a long response or an idle connection; invalidates the views of a complete request. Does nothing while a
    /// request is being read.
    void release_memory();
    /// Bytes of an incomplete or copied body.
    std::size_t body_memory() const noexcept { return kept_body_.capacity(); }
    /// Bytes of memory in use.
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
    std::string_view head_text_;  // what the views of the head point into: the caller's bytes or kept_head_
    std::string kept_head_;
    async::input_buffer kept_body_;
    refusal refusal_;

    head_end_finder end_finder_;
    std::size_t lines_ = 0;        // complete lines, including the request line
    std::uint64_t remaining_ = 0;  // of the body
    chunk_reader chunks_;

    state state_ = state::head;
    framing framing_ = framing::none;
    std::uint8_t empty_lines_ = 0;  // bytes of them
    bool begun_ = false;
    bool wants_continue_ = false;
};

}  // namespace keel::http
