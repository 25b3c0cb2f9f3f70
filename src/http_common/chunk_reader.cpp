#include "http_common/chunk_reader.hpp"

#include "http_common/tokens.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::http {

namespace {

constexpr std::uint8_t max_digits = 16;  // of a chunk size, with leading zeros

int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    const char low = lower(c);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

}  // namespace

void chunk_reader::start() noexcept { *this = chunk_reader(rules_); }

chunk_reader::event chunk_reader::next(std::string_view& bytes) noexcept {
    while (!bytes.empty()) {
        if (step_ == step::data) {
            piece_ = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size())));
            bytes.remove_prefix(piece_.size());
            remaining_ -= piece_.size();
            if (remaining_ == 0) step_ = step::data_cr;
            return event::data;
        }
        const event e = take_byte(bytes.front());
        if (e != event::more && e != event::end) return e;
        bytes.remove_prefix(1);
        if (e == event::end) return e;
    }
    return event::more;
}

/// Consumes one byte between the data of two chunks.
chunk_reader::event chunk_reader::take_byte(char c) noexcept {
    const bool fits = is_field_char(c);
    switch (step_) {
        case step::size_first:
        case step::size: return take_size(c);
        case step::before_extension:
            if (c == ';') step_ = step::extension;
            else if (c == '\r' && rules_.is_stream) step_ = step::size_lf;
            else if (!is_blank(c)) return event::bad;
            return count_overhead(event::extensions_too_large);
        case step::extension:
            if (c == '\r') return expect(c, '\r', step::size_lf);
            return fits ? count_overhead(event::extensions_too_large) : event::bad;
        case step::size_lf:
            if (remaining_ == 0 || rules_.is_stream) overhead_ = 0;
            return expect(c, '\n', remaining_ == 0 ? step::trailer_first : step::data);
        case step::data_cr: return expect(c, '\r', step::data_lf);
        case step::data_lf: return expect(c, '\n', step::size_first);
        case step::trailer_first:
            if (c == '\r') return expect(c, '\r', step::end_lf);
            step_ = step::trailer;
            if (++trailers_ > rules_.max_trailers) return event::too_many_trailers;
            return is_token_char(c) ? count_overhead(event::trailers_too_large) : event::bad;
        case step::trailer:
            if (c == '\r') return expect(c, '\r', step::trailer_lf);
            return fits ? count_overhead(event::trailers_too_large) : event::bad;
        case step::trailer_lf: return expect(c, '\n', step::trailer_first);
        case step::end_lf: return c == '\n' ? event::end : event::bad;
        case step::data: break;  // not here: see next()
    }
    return event::bad;
}

chunk_reader::event chunk_reader::take_size(char c) noexcept {
    if (const int digit = hex_digit(c); digit >= 0) {
        if (++digits_ > max_digits) return event::bad;
        remaining_ = remaining_ * 16 + static_cast<unsigned>(digit);
        if (remaining_ > rules_.max_body - seen_) return event::body_too_large;  // before the data arrives
        step_ = step::size;
        return event::more;
    }
    if (step_ == step::size_first) return event::bad;
    digits_ = 0;
    if (!rules_.is_stream) seen_ += remaining_;
    if (c == '\r') step_ = step::size_lf;
    else if (c == ';') step_ = step::extension;
    else if (is_blank(c)) step_ = step::before_extension;
    else return event::bad;
    return event::more;
}

chunk_reader::event chunk_reader::expect(char c, char wanted, step then) noexcept {
    step_ = then;
    return c == wanted ? event::more : event::bad;
}

}  // namespace keel::http
