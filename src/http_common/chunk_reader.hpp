#pragma once

// Decodes the chunked transfer coding of requests and responses, from input split at any byte.

#include <keel/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

class chunk_reader {
public:
    enum class event : std::uint8_t {
        more,  // all input was consumed; more is needed
        data,  // piece() is a part of the body
        end,   // the body is complete; the remaining bytes follow it
        // After these the reader must not be used again.
        bad,
        body_too_large,
        extensions_too_large,
        trailers_too_large,
        too_many_trailers,
    };
    struct rules {
        std::uint64_t max_body;
        std::size_t max_overhead;  // bytes of extensions, and again of trailers
        std::size_t max_trailers;
        // For bodies without an end: max_body limits each chunk, and blanks after a chunk size are allowed.
        bool is_stream;
    };

    explicit chunk_reader(const rules& r) noexcept : rules_(r) {}

    /// Prepares for the first byte of a body.
    void start() noexcept;
    /// Removes input from the front of `bytes` up to the next event.
    event next(std::string_view& bytes) noexcept;
    std::string_view piece() const noexcept { return piece_; }

private:
    enum class step : std::uint8_t {
        size_first,
        size,
        before_extension,
        extension,
        size_lf,
        data,
        data_cr,
        data_lf,
        trailer_first,
        trailer,
        trailer_lf,
        end_lf
    };

    event take_byte(char c) noexcept;
    event take_size(char c) noexcept;
    event expect(char c, char wanted, step then) noexcept;
    event count_overhead(event too_much) noexcept {
        return ++overhead_ <= rules_.max_overhead ? event::more : too_much;
    }

    rules rules_;
    std::string_view piece_;
    std::uint64_t remaining_ = 0;  // of the chunk
    std::uint64_t seen_ = 0;       // bytes of the body, if max_body limits the whole
    std::size_t overhead_ = 0;
    std::size_t trailers_ = 0;
    step step_ = step::size_first;
    std::uint8_t digits_ = 0;
};

}  // namespace keel::http
