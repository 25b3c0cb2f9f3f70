#include "json/arena.hpp"
#include "json/ascii.hpp"
#include "json/container.hpp"
#include "json/key_index.hpp"
#include "json/number.hpp"
#include "json/scan.hpp"
#include "json/utf8.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>
#include <new>

// One pass over the text, no recursion. Complete values are pushed on a stack; when a container closes, its cells move
// from the stack into a block of exactly the right size.

namespace keel::inline KEEL_ABI::json {

namespace detail {

/// Constructs borrowed values in uninitialized memory.
struct builder {
    static void null(void* at) noexcept { new (at) value(); }
    static void boolean(void* at, bool b) noexcept { new (at) value(b); }
    static void real(void* at, double d) noexcept { new (at) value(d); }
    static void integer(void* at, std::int64_t n) noexcept { new (at) value(n); }
    static void unsigned_integer(void* at, std::uint64_t n) noexcept { new (at) value(n); }

    static void string(void* at, const char* text, std::size_t size) noexcept {
        auto* v = new (at) value();
        v->kind_ = kind::string;
        v->borrowed_ = true;
        v->size_ = static_cast<std::uint32_t>(size);
        v->text_ = text;
    }

    static void block(void* at, kind k, container* cells, std::size_t size) noexcept {
        auto* v = new (at) value();
        v->kind_ = k;
        v->borrowed_ = true;
        v->size_ = static_cast<std::uint32_t>(size);
        v->container_ = cells;
    }

    // An open container is represented on the stack by a marker: its kind, and the index of the marker of the enclosing
    // container.
    static void marker(void* at, kind k, std::size_t outer) noexcept {
        auto* v = new (at) value();
        v->kind_ = k;
        v->borrowed_ = true;
        v->uint_ = outer;
    }
    static std::size_t outer_of(const value& marker) noexcept { return static_cast<std::size_t>(marker.uint_); }

    static void drop_name(member& m) noexcept { m.name.forget(); }

    /// Bitwise copy: `to` must own nothing, and `from` is not destroyed.
    static void copy_cell(value& to, const value& from) noexcept {
        to.kind_ = from.kind_;
        to.borrowed_ = from.borrowed_;
        to.size_ = from.size_;
        to.int_ = from.int_;
    }
};

namespace {

/// Memory for values without constructor or destructor calls: all values here are borrowed. The user counts the cells
/// in use.
class cell_stack {
public:
    static constexpr std::size_t keep = 64 * 1024 / sizeof(value);

    value* begin() noexcept { return data_.get(); }
    value* end() noexcept { return data_.get() + room_; }
    /// Grows the stack. Moves the first `used` cells.
    [[gnu::noinline]] void grow(std::size_t used) {
        const std::size_t room = std::max<std::size_t>(room_ * 2, 64);
        std::unique_ptr<value, free_memory> larger(static_cast<value*>(::operator new(room * sizeof(value))));
        if (used != 0) std::memcpy(static_cast<void*>(larger.get()), data_.get(), used * sizeof(value));
        data_ = std::move(larger);
        room_ = room;
    }
    void clear() noexcept {
        if (room_ > keep) {
            data_.reset();
            room_ = 0;
        }
    }

private:
    struct free_memory {
        void operator()(value* p) const noexcept { ::operator delete(p); }
    };

    std::unique_ptr<value, free_memory> data_;
    std::size_t room_ = 0;
};

inline int hex_digit(char c) noexcept {
    if (is_digit(c)) return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// Duplicate names: the first member keeps its position and gets the content of the last. Returns the number of
/// remaining members.
std::size_t merge_many(member* members, std::size_t count) {
    key_index index;
    if (!index.build({members, count})) throw std::bad_alloc();
    const auto sorted = index.entries();
    // Equal names are adjacent, the earliest first.
    std::size_t left = count;
    for (std::size_t i = 0; i != sorted.size();) {
        member& first = members[sorted[i].place];
        std::size_t j = i + 1;
        while (j != sorted.size() && sorted[j].hash == sorted[i].hash && members[sorted[j].place].key() == first.key())
            ++j;
        for (std::size_t k = i + 1; k < j; ++k) {
            first.content = std::move(members[sorted[k].place].content);
            builder::drop_name(members[sorted[k].place]);
            --left;
        }
        i = j;
    }
    if (left == count) return count;
    member* out = members;
    for (member* in = members; in != members + count; ++in) {
        if (!in->name.is_string()) continue;
        if (out != in) *out = std::move(*in);
        ++out;
    }
    return left;
}

/// One bit per name, from its length and its first and last character. Names with different bits differ.
inline std::uint64_t mark_of(std::string_view key) noexcept {
    std::size_t mark = key.size();
    if (mark != 0) mark += static_cast<unsigned char>(key.front()) * 5u + static_cast<unsigned char>(key.back()) * 11u;
    return std::uint64_t{1} << mark % 64;
}

std::size_t merge_alike(member* members, std::size_t count) noexcept {
    std::uint64_t seen = 0;
    std::size_t left = 0;
    for (std::size_t i = 0; i != count; ++i) {
        const std::string_view key = members[i].key();
        const std::uint64_t mark = mark_of(key);
        if ((seen & mark) != 0) {
            member* const end = members + left;
            member* const same = std::find_if(members, end, [&](const member& m) { return m.key() == key; });
            if (same != end) {
                same->content = std::move(members[i].content);
                continue;
            }
        }
        seen |= mark;
        if (left != i) members[left] = std::move(members[i]);
        ++left;
    }
    return left;
}

inline std::size_t merge_few(member* members, std::size_t count) noexcept {
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i != count; ++i) {
        const std::uint64_t mark = mark_of(members[i].key());
        if ((seen & mark) != 0) return merge_alike(members, count);
        seen |= mark;
    }
    return count;  // no duplicates, the usual case
}

/// Reads one text. Functions take the position where they start, and return the position after the parsed text, or
/// nullptr if error_ is set.
class reader {
public:
    /// `in_place`: the text may be overwritten.
    reader(std::string_view text, bool in_place, std::size_t max_depth, arena& memory, cell_stack& cells,
           parse_error& error) noexcept
        : begin_(text.data()), end_(text.data() + text.size()), in_place_(in_place), max_depth_(max_depth),
          memory_(memory), cells_(cells), error_(error) {}

    /// Leaves the value as the only one on the stack. Variables that change with each character are local to this
    /// function, so that they stay in registers; rare and long cases are in other functions.
    bool read() {
        const char* p = begin_;
        value* top = cells_.begin();
        value* limit = cells_.end();
        std::size_t open = 0;    // the marker of the innermost open container
        std::size_t depth = 0;   // number of open containers
        bool in_object = false;  // true if the innermost container is an object

        for (;;) {
            if (limit - top < 2) {  // room for a name and a value
                const auto used = static_cast<std::size_t>(top - cells_.begin());
                cells_.grow(used);
                top = cells_.begin() + used;
                limit = cells_.end();
            }
            if (in_object) {
                if (!(p = pass(p, '"', "expected a member name"))) return false;
                if (!(p = read_string(p, top++))) return false;
                if (!(p = pass(p, ':', "expected ':'"))) return false;
            }

            // A scalar or an empty container, which are complete, or the start of a container.
            p = skip_space(p);
            if (p == end_) return fail(p, "unexpected end");
            // No switch: its jump table would be one more cache miss.
            if (*p == '"') {
                p = read_string(p + 1, top++);
            } else if (*p == '{' || *p == '[') {
                const bool object = *p == '{';
                const kind k = object ? kind::object : kind::array;
                if (depth == max_depth_) return fail(p, "nested too deeply");
                p = skip_space(p + 1);
                if (p == end_) return fail(p, "unexpected end");
                if (*p != (object ? '}' : ']')) {
                    builder::marker(top, k, open);
                    open = static_cast<std::size_t>(top++ - cells_.begin());
                    in_object = object;
                    ++depth;
                    continue;
                }
                builder::block(top++, k, nullptr, 0);
                ++p;
            } else if (is_digit(*p) || *p == '-') {
                p = read_number(p, top++);
            } else {
                p = read_word(p, top++);
            }
            if (!p) return false;

            // After a complete value: the end, another value, or the end of the container, which is then complete.
            for (;;) {
                p = skip_space(p);
                if (depth == 0) return p == end_ || fail(p, "text after the value");
                if (p == end_) return fail(p, "unexpected end");
                if (*p == ',') break;
                if (*p != (in_object ? '}' : ']')) {
                    return fail(p, in_object ? "expected ',' or '}'" : "expected ',' or ']'");
                }
                value* const marker = cells_.begin() + open;
                open = builder::outer_of(*marker);
                if (!close(marker, top, in_object)) return fail(p, "too many elements");
                top = marker + 1;
                --depth;
                in_object = depth != 0 && cells_.begin()[open].is_object();
                ++p;
            }
            ++p;
        }
    }

private:
    /// Converts to nullptr and to false.
    struct failed {
        operator const char*() const noexcept { return nullptr; }
        operator bool() const noexcept { return false; }
    };
    failed fail(const char* at, const char* what) noexcept {
        error_ = {static_cast<std::size_t>(at - begin_), what};
        return {};
    }

    const char* skip_space(const char* p) const noexcept {
        // Messages usually contain no white space: check that with one comparison.
        if (p != end_ && static_cast<unsigned char>(*p) > ' ') return p;
        while (p != end_ && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) ++p;
        return p;
    }

    /// Skips white space and the expected character.
    const char* pass(const char* p, char wanted, const char* problem) noexcept {
        if (p != end_ && *p == wanted) return p + 1;
        p = skip_space(p);
        if (p == end_) return fail(p, "unexpected end");
        if (*p != wanted) return fail(p, problem);
        return p + 1;
    }

    [[gnu::noinline]] const char* read_word(const char* p, void* into) noexcept {
        switch (*p) {
            case 't': builder::boolean(into, true); return expect(p, "true");
            case 'f': builder::boolean(into, false); return expect(p, "false");
            case 'n': builder::null(into); return expect(p, "null");
            default: return fail(p, "expected a value");
        }
    }

    const char* expect(const char* p, std::string_view word) noexcept {
        for (const char c : word) {
            if (p == end_) return fail(p, "unexpected end");
            if (*p != c) return fail(p, "expected a value");
            ++p;
        }
        return p;
    }

    /// Creates the container from the cells between its marker and `top`, in place of the marker.
    [[gnu::noinline]] bool close(value* marker, const value* top, bool object) {
        auto count = static_cast<std::size_t>(top - marker - 1);
        if (object) {
            auto* members = reinterpret_cast<member*>(marker + 1);
            count /= 2;
            count = count <= few_members ? merge_few(members, count) : merge_many(members, count);
        }
        if (count > container::max_size) return false;
        const std::size_t cells = object ? count * 2 : count;
        auto* block = new (memory_.take(container::bytes_for(cells))) container{nullptr, cells};
        std::memcpy(static_cast<void*>(block->begin()), marker + 1, cells * sizeof(value));
        builder::block(marker, object ? kind::object : kind::array, block, count);
        return true;
    }

    /// `p` is after the opening quote.
    const char* read_string(const char* p, void* into) {
#if defined(__SSE2__)
        // Nearly all strings end within 16 bytes. Near the end of the text, the last 16 bytes are loaded instead.
        const std::ptrdiff_t left = end_ - p;
        unsigned marks = 0;
        if (left >= 16) marks = not_plain_16(load_16(p));
        else if (end_ - begin_ >= 16) marks = not_plain_16(load_16(end_ - 16)) >> (16 - left);
        if (marks != 0) {
            const int size = std::countr_zero(marks);
            if (p[size] == '"') {
                builder::string(into, p, static_cast<std::size_t>(size));
                return p + size + 1;
            }
        }
#endif
        return read_long(p, into);
    }

    [[gnu::noinline]] const char* read_long(const char* p, void* into) {
        const char* const end = skip_plain(p, end_);
        if (end != end_ && *end == '"') return finish_string(p, p, end, end + 1, into);
        return read_unusual(p, end, into);
    }

    /// A string that starts at `start` and has a character at `p` that is not plain.
    const char* read_unusual(const char* start, const char* p, void* into) {
        for (;;) {
            if (p == end_) return fail(p, "unexpected end");
            if (*p == '"') return finish_string(start, start, p, p + 1, into);
            if (*p == '\\') return in_place_ ? decode_in_place(start, p, into) : read_escaped(start, p, into);
            if (is_ascii(*p)) return fail(p, "control character in a string");
            if (!(p = read_non_ascii(p))) return nullptr;
            p = skip_plain(p, end_);
        }
    }

    const char* read_non_ascii(const char* p) noexcept {
        const auto [next, valid] = skip_non_ascii(p, end_);
        if (valid) return next;
        return fail(next, next == end_ ? "unexpected end" : "invalid UTF-8");
    }

    const char* finish_string(const char* source, const char* text, const char* text_end, const char* next,
                              void* into) {
        const auto size = static_cast<std::size_t>(text_end - text);
        if (size > container::max_size) return fail(source, "string too long");
        builder::string(into, text, size);
        return next;
    }

    /// From the first backslash on, the string is copied to the open end of the arena.
    const char* read_escaped(const char* const source, const char* p, void* into) {
        char* text = memory_.open();
        char* out = text;
        const auto room_for = [&](std::size_t more) {
            if (static_cast<std::ptrdiff_t>(more) <= memory_.limit() - out) return;
            const auto used = static_cast<std::size_t>(out - text);
            // At once for everything that may follow: memory that is not written costs nothing, copying does.
            text = memory_.reopen(text, used, std::max(more, static_cast<std::size_t>(end_ - p)));
            out = text + used;
        };
        const auto add = [&](const char* from, const char* to) {
            const auto size = static_cast<std::size_t>(to - from);
            room_for(size);
            if (size != 0) std::memcpy(out, from, size);
            out += size;
        };

        add(source, p);
        for (;;) {
            // The character at p is not plain.
            if (*p == '"') {
                memory_.close(out);
                return finish_string(source, text, out, p + 1, into);
            }
            if (*p == '\\') {
                char32_t c = 0;
                if (!(p = read_escape(p + 1, c))) return nullptr;
                room_for(4);
                out = put_utf8(out, c);
            } else if (is_ascii(*p)) {
                return fail(p, "control character in a string");
            } else {
                const char* next = read_non_ascii(p);
                if (!next) return nullptr;
                add(p, next);
                p = next;
            }

            const char* run = p;
#if defined(__SSE2__)
            // Copied while scanning: runs between escapes are short.
            while (end_ - p >= 16) {
                const __m128i bytes = load_16(p);
                const unsigned marks = not_plain_16(bytes);
                room_for(16);
                _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
                const int plain = marks != 0 ? std::countr_zero(marks) : 16;
                p += plain;
                out += plain;
                if (marks != 0) break;
            }
            run = p;
#endif
            p = skip_plain_portable(p, end_);
            if (p != run) add(run, p);
            if (p == end_) return fail(p, "unexpected end");
        }
    }

    /// The same without a copy: an escape is longer than what it stands for, so the text behind it moves forward.
    const char* decode_in_place(const char* const source, const char* p, void* into) {
        char* out = const_cast<char*>(p);
        const auto add = [&](const char* from, const char* to) {
            const auto size = static_cast<std::size_t>(to - from);
            std::memmove(out, from, size);
            out += size;
        };
        for (;;) {
            // The character at p is not plain.
            if (*p == '"') return finish_string(source, source, out, p + 1, into);
            if (*p == '\\') {
                char32_t c = 0;
                if (!(p = read_escape(p + 1, c))) return nullptr;
                out = put_utf8(out, c);
            } else if (is_ascii(*p)) {
                return fail(p, "control character in a string");
            } else {
                const char* next = read_non_ascii(p);
                if (!next) return nullptr;
                add(p, next);
                p = next;
            }
            const char* const run = p;
            p = skip_plain(p, end_);
            add(run, p);
            if (p == end_) return fail(p, "unexpected end");
        }
    }

    /// `p` is after the backslash.
    const char* read_escape(const char* p, char32_t& c) noexcept {
        if (p == end_) return fail(p, "unexpected end");
        switch (*p) {
            case '"':
            case '\\':
            case '/': c = static_cast<unsigned char>(*p); return p + 1;
            case 'b': c = '\b'; return p + 1;
            case 'f': c = '\f'; return p + 1;
            case 'n': c = '\n'; return p + 1;
            case 'r': c = '\r'; return p + 1;
            case 't': c = '\t'; return p + 1;
            case 'u': break;
            default: return fail(p, "invalid escape");
        }
        const char* const digits = p + 1;
        p = read_hex(digits, c);
        if (!p || c < 0xD800 || c > 0xDFFF) return p;
        // The text is valid only if a low surrogate from \uDC00 to \uDFFF follows.
        if (c >= 0xDC00) return fail(digits + 1, "unpaired surrogate");
        for (const char wanted : {'\\', 'u'}) {
            if (p == end_) return fail(p, "unexpected end");
            if (*p != wanted) return fail(p, "unpaired surrogate");
            ++p;
        }
        char32_t low = 0;
        const char* const second = p;
        p = read_hex(second, low);
        if (!p) return nullptr;
        if (low < 0xDC00 || low > 0xDFFF)
            return fail(hex_digit(*second) == 0xD ? second + 1 : second, "unpaired surrogate");
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        return p;
    }

    const char* read_hex(const char* p, char32_t& c) noexcept {
        c = 0;
        for (int i = 0; i != 4; ++i, ++p) {
            if (p == end_) return fail(p, "unexpected end");
            const int digit = hex_digit(*p);
            if (digit < 0) return fail(p, "invalid escape");
            c = c << 4 | static_cast<char32_t>(digit);
        }
        return p;
    }

    const char* read_digits(const char* p) noexcept {
        if (p == end_) return fail(p, "unexpected end");
        if (!is_digit(*p)) return fail(p, "invalid number");
        while (p != end_ && is_digit(*p)) ++p;
        return p;
    }

    [[gnu::noinline]] const char* read_number(const char* const start, void* into) {
        const bool negative = *start == '-';
        const char* p = negative ? start + 1 : start;
        const char* const digits = p;
        if (p == end_) return fail(p, "unexpected end");
        if (!is_digit(*p)) return fail(p, "invalid number");
        std::uint64_t n = 0;  // overflows if there are too many digits; it is not used then
        if (*p == '0') {
            ++p;
            if (p != end_ && is_digit(*p)) return fail(p, "invalid number");
        } else {
            for (; p != end_ && is_digit(*p); ++p) n = n * 10 + static_cast<unsigned char>(*p - '0');
        }
        const char* const whole = p;
        if (p != end_ && *p == '.' && !(p = read_digits(p + 1))) return nullptr;
        if (p != end_ && (*p == 'e' || *p == 'E')) {
            ++p;
            if (p != end_ && (*p == '+' || *p == '-')) ++p;
            if (!(p = read_digits(p))) return nullptr;
        }
        if (p == whole) {
            constexpr std::ptrdiff_t always_fit = 19;  // digits that always fit in 64 bits
            bool exact = p - digits <= always_fit;
            if (!exact) exact = std::from_chars(digits, p, n).ec == std::errc();
            if (exact && !negative) {
                builder::unsigned_integer(into, n);
                return p;
            }
            constexpr std::uint64_t lowest = std::uint64_t{1} << 63;
            if (exact && n != 0 && n <= lowest) {
                builder::integer(into, static_cast<std::int64_t>(~n + 1));
                return p;
            }
            // -0 remains: as an integer it would lose its sign.
        }
        const auto d = to_double(start, p);
        if (!d) return fail(start, "number out of range");
        builder::real(into, *d);
        return p;
    }

    const char* const begin_;
    const char* const end_;
    const bool in_place_;
    const std::size_t max_depth_;
    arena& memory_;
    cell_stack& cells_;
    parse_error& error_;
};

}  // namespace

}  // namespace detail

struct document::arena {
    detail::arena memory;
    detail::cell_stack cells;
};

document::document() : arena_(new arena) {}

document::~document() { delete arena_; }

const value* document::read(std::string_view text, const parse_options& options) { return read(text, false, options); }

const value* document::read_in_place(char* text, std::size_t size, const parse_options& options) {
    return read({text, size}, true, options);
}

const value* document::read(std::string_view text, bool in_place, const parse_options& options) {
    clear();
    // The stack is not needed after the read, whatever its result; the arena is.
    struct cleaner {
        detail::cell_stack& cells;
        ~cleaner() { cells.clear(); }
    } clean{arena_->cells};
    if (!detail::reader(text, in_place, options.max_depth, arena_->memory, arena_->cells, error_).read())
        return nullptr;
    detail::builder::copy_cell(root_, *arena_->cells.begin());
    return &root_;
}

void document::clear() noexcept {
    detail::builder::copy_cell(root_, value());
    error_ = {};
    arena_->memory.reset();
}

value parse(std::string_view text, const parse_options& options) {
    document source;
    if (const value* found = source.read(text, options)) return *found;
    throw error(std::string(source.error().what) + " at byte " + std::to_string(source.error().offset));
}

}  // namespace keel::json
