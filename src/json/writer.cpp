#include "json/container.hpp"
#include "json/scan.hpp"
#include "json/small_stack.hpp"
#include "json/utf8.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

namespace keel::inline KEEL_ABI::json {

namespace {

/// Collects short pieces, so that the string grows in few steps.
class buffered {
public:
    explicit buffered(std::string& out) noexcept : out_(out) {}
    buffered(const buffered&) = delete;
    buffered& operator=(const buffered&) = delete;

    /// Returns room for at least n characters (n <= `room`); call advance() with the number written.
    char* space(std::size_t n) {
        if (n > room - size_) flush();
        return data_.data() + size_;
    }
    void advance(std::size_t n) noexcept { size_ += n; }
    void put(char c) {
        *space(1) = c;
        ++size_;
    }
    void put(std::string_view text) {
        if (text.size() > room) {
            flush();
            out_.append(text);
            return;
        }
        if (text.empty()) return;
        std::memcpy(space(text.size()), text.data(), text.size());
        size_ += text.size();
    }
    void flush() {
        out_.append(data_.data(), size_);
        size_ = 0;
    }
    /// Avoids that a string that is put in several pieces makes the output grow in several steps.
    void reserve(std::size_t size) {
        const std::size_t expected = size + size / 8 + room;  // with escapes
        if (size <= room || out_.capacity() - out_.size() >= expected) return;
        out_.reserve(std::max(out_.size() + expected, 2 * out_.capacity()));
    }

private:
    static constexpr std::size_t room = 1024;
    std::string& out_;
    std::size_t size_ = 0;
    std::array<char, room> data_;
};

/// Truncates the output to its former size unless it is kept, also if an allocation throws.
class undo {
public:
    explicit undo(std::string& out) noexcept : out_(out), size_(out.size()) {}
    undo(const undo&) = delete;
    undo& operator=(const undo&) = delete;
    ~undo() {
        if (!kept_) out_.resize(size_);
    }
    void keep() noexcept { kept_ = true; }

private:
    std::string& out_;
    std::size_t size_;
    bool kept_ = false;
};

/// Enough for any escape and any number.
constexpr std::size_t short_text = 32;

std::size_t escape(char* out, char c) noexcept {
    constexpr char digits[] = "0123456789abcdef";
    out[0] = '\\';
    switch (c) {
        case '"':
        case '\\': out[1] = c; return 2;
        case '\b': out[1] = 'b'; return 2;
        case '\f': out[1] = 'f'; return 2;
        case '\n': out[1] = 'n'; return 2;
        case '\r': out[1] = 'r'; return 2;
        case '\t': out[1] = 't'; return 2;
        default: break;
    }
    const auto u = static_cast<unsigned char>(c);
    std::memcpy(out + 1, "u00", 3);
    out[4] = digits[u >> 4];
    out[5] = digits[u & 15];
    return 6;
}

/// Returns 0 for NaN and infinity.
std::size_t number(char* out, double d) noexcept {
    if (!std::isfinite(d)) return 0;
    const double size = std::fabs(d);
    // to_chars alone would choose the shortest notation, such as 1e+05. In this range use fixed notation; the digits
    // are the same.
    const bool ordinary = size == 0 || (size >= 1e-5 && size < 1e15);
    char* const end = ordinary ? std::to_chars(out, out + short_text, d, std::chars_format::fixed).ptr
                               : std::to_chars(out, out + short_text, d, std::chars_format::scientific).ptr;
    auto length = static_cast<std::size_t>(end - out);
    // 3.0, not 3: a real number is read back as one.
    if (ordinary && !std::memchr(out, '.', length)) {
        out[length++] = '.';
        out[length++] = '0';
    }
    return length;
}

template <class Integer>
std::size_t integer(char* out, Integer n) noexcept {
    return static_cast<std::size_t>(std::to_chars(out, out + short_text, n).ptr - out);
}

bool put_string(buffered& out, std::string_view text) {
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    // Long texts are checked and copied in blocks, so that the second step finds its block in the cache.
    constexpr std::ptrdiff_t block = 16 * 1024;
    const auto skip_block = [&](const char* p) { return detail::skip_plain(p, end - p > block ? p + block : end); };
    const char* p = skip_block(begin);
    if (p == end && text.size() <= short_text) {
        char* const at = out.space(short_text + 2);
        *at = '"';
        if (!text.empty()) std::memcpy(at + 1, begin, text.size());
        at[text.size() + 1] = '"';
        out.advance(text.size() + 2);
        return true;
    }
    const char* run = begin;
    out.put('"');
    out.reserve(text.size());
    for (; p != end; p = skip_block(p)) {
        if (!detail::is_ascii(*p)) {
            const auto [next, valid] = detail::skip_non_ascii(p, end);
            if (!valid) return false;
            p = next;
            continue;
        }
        out.put({run, static_cast<std::size_t>(p - run)});
        run = p;
        if (detail::is_plain(*p)) continue;  // the end of a block
        out.advance(escape(out.space(short_text), *p));
        run = ++p;
    }
    out.put({run, static_cast<std::size_t>(p - run)});
    out.put('"');
    return true;
}

/// A container that is partially written.
struct level {
    const value* next;  // cells: elements, or keys and values in turn
    const value* end;
    bool object;
};

bool put_scalar(buffered& out, const value& v) {
    switch (v.type()) {
        case kind::null: out.put("null"); return true;
        case kind::boolean: out.put(*v.if_bool() ? "true" : "false"); return true;
        case kind::integer: out.advance(integer(out.space(short_text), *v.if_int())); return true;
        case kind::unsigned_integer: out.advance(integer(out.space(short_text), *v.if_uint())); return true;
        case kind::real: {
            const std::size_t length = number(out.space(short_text), *v.if_double());
            out.advance(length);
            return length != 0;
        }
        default: return put_string(out, *v.if_string());
    }
}

bool put_value(buffered& out, const value& root) {
    using detail::container;
    detail::small_stack<level> open;
    const value* v = &root;
    for (;;) {
        if (v->type() < kind::array) {
            if (!put_scalar(out, *v)) return false;
        } else if (v->empty()) {
            out.put(v->is_object() ? "{}" : "[]");
        } else {
            out.put(v->is_object() ? '{' : '[');
            const value* cells = container::block_of(*v)->begin();
            open.push({cells, cells + container::cells_of(*v), v->is_object()});
            v = nullptr;  // the first element has no comma
        }
        // Close finished containers, then find the next value.
        while (!open.empty() && open.top().next == open.top().end) {
            out.put(open.top().object ? '}' : ']');
            open.drop();
        }
        if (open.empty()) return true;
        level& top = open.top();
        if (v) out.put(',');
        if (top.object) {
            if (!put_string(out, *top.next->if_string())) return false;
            out.put(':');
            ++top.next;
        }
        v = top.next++;
    }
}

}  // namespace

bool write(std::string& out, const value& v) {
    undo guard(out);
    buffered text(out);
    if (!put_value(text, v)) return false;
    text.flush();
    guard.keep();
    return true;
}

std::string to_string(const value& v) {
    std::string out;
    if (!write(out, v)) throw error("cannot write as JSON: NaN, infinity, or invalid UTF-8");
    return out;
}

bool write_string(std::string& out, std::string_view s) {
    undo guard(out);
    buffered text(out);
    if (!put_string(text, s)) return false;
    text.flush();
    guard.keep();
    return true;
}

void write_int(std::string& out, std::int64_t n) {
    char text[short_text];
    out.append(text, integer(text, n));
}

void write_uint(std::string& out, std::uint64_t n) {
    char text[short_text];
    out.append(text, integer(text, n));
}

bool write_double(std::string& out, double d) {
    char text[short_text];
    const std::size_t length = number(text, d);
    out.append(text, length);
    return length != 0;
}

bool is_utf8(std::string_view text) noexcept {
    const char* p = text.data();
    const char* const end = p + text.size();
    while ((p = detail::skip_ascii(p, end)) != end) {
        const auto [next, valid] = detail::skip_non_ascii(p, end);
        if (!valid) return false;
        p = next;
    }
    return true;
}

}  // namespace keel::json
