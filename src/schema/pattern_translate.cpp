// Translates ECMA-262 to RE2. Every character class is written as explicit ranges, so that RE2's meaning of \s or .
// does not matter; groups do not capture; the error names a feature that RE2 does not support.

#include "schema/pattern.hpp"

#include "json/ascii.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace keel::inline KEEL_ABI::validation {

namespace {

// WhiteSpace and LineTerminator of ECMA-262, and their complement.
constexpr std::string_view space_ranges =
    "\\x09-\\x0D\\x20\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}\\x{FEFF}";
constexpr std::string_view other_than_space_ranges =
    "\\x00-\\x08\\x0E-\\x1F\\x21-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}\\x{202A}-\\x{202E}"
    "\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{FEFE}\\x{FF00}-\\x{10FFFF}";
constexpr std::string_view anything = "\\x00-\\x{10FFFF}";

constexpr std::array<std::pair<std::string_view, std::string_view>, 48> categories{{
    {"Other", "C"},
    {"Control", "Cc"},
    {"cntrl", "Cc"},
    {"Format", "Cf"},
    {"Private_Use", "Co"},
    {"Surrogate", "Cs"},
    {"Letter", "L"},
    {"Lowercase_Letter", "Ll"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Titlecase_Letter", "Lt"},
    {"Uppercase_Letter", "Lu"},
    {"Mark", "M"},
    {"Combining_Mark", "M"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Nonspacing_Mark", "Mn"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Close_Punctuation", "Pe"},
    {"Final_Punctuation", "Pf"},
    {"Initial_Punctuation", "Pi"},
    {"Other_Punctuation", "Po"},
    {"Open_Punctuation", "Ps"},
    {"Symbol", "S"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Math_Symbol", "Sm"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Space_Separator", "Zs"},
    // Binary properties that are aliases of categories. RE2 does not support the others.
    {"Cased_Letter", ""},
    {"LC", ""},
    {"Unassigned", ""},
    {"Cn", ""},
    {"Alphabetic", ""},
    {"Uppercase", ""},
    {"Lowercase", ""},
    {"White_Space", ""},
}};

struct refusal {
    translated_pattern::outcome what;
    std::string why;
};

[[noreturn]] void invalid(const std::string& why) {
    throw refusal{translated_pattern::outcome::invalid, "invalid pattern: " + why};
}

[[noreturn]] void unsupported(const std::string& what) {
    throw refusal{translated_pattern::outcome::unsupported, "pattern uses " + what + ", which is not supported"};
}

using json::is_digit;
using json::is_letter;

/// One element of a class, or an escape outside: a character, or ranges in the form used within brackets.
struct atom {
    char32_t character = 0;
    std::string ranges;  // empty: a single character
    bool is_class() const noexcept { return !ranges.empty(); }
};

class translator {
public:
    explicit translator(std::string_view in) : in_(in) {}

    std::string run() {
        int open = 0;
        while (!at_end()) {
            const char c = peek();
            switch (c) {
                case '\\': escape(); break;
                case '[': character_class(); break;
                case '.':
                    ++at_;
                    out_ += "[^\\x0A\\x0D\\x{2028}\\x{2029}]";
                    break;
                case '^':
                    ++at_;
                    out_ += "\\A";
                    break;
                case '$':
                    ++at_;
                    out_ += "\\z";
                    break;
                case '(':
                    group();
                    ++open;
                    break;
                case ')':
                    if (open-- == 0) invalid("unmatched )");
                    ++at_;
                    out_ += ')';
                    break;
                case '{': brace(); break;
                case '*':
                case '+':
                case '?':
                case '|':
                    ++at_;
                    out_ += c;
                    break;
                default: put(character()); break;
            }
        }
        if (open != 0) invalid("unmatched (");
        return std::move(out_);
    }

private:
    bool at_end() const noexcept { return at_ == in_.size(); }
    char peek() const noexcept { return in_[at_]; }
    bool looking_at(std::string_view text) const noexcept { return in_.substr(at_).starts_with(text); }
    bool take(char c) noexcept {
        if (at_end() || peek() != c) return false;
        ++at_;
        return true;
    }

    /// One code point. In invalid UTF-8 each byte is a character.
    char32_t character() noexcept {
        const auto byte = [&](std::size_t i) {
            return at_ + i < in_.size() ? static_cast<unsigned char>(in_[at_ + i]) : 0u;
        };
        const unsigned lead = byte(0);
        const std::size_t length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        char32_t c = length == 1 ? lead : lead & (0xFFu >> (length + 1));
        for (std::size_t i = 1; i != length; ++i) c = c << 6 | (byte(i) & 0x3Fu);
        at_ = std::min(in_.size(), at_ + length);
        return c;
    }

    static void append(std::string& to, char32_t c) {
        if (c < 0x80 && (is_letter(static_cast<char>(c)) || is_digit(static_cast<char>(c)))) {
            to += static_cast<char>(c);
            return;
        }
        constexpr char digits[] = "0123456789ABCDEF";
        to += "\\x{";
        int shift = 20;
        while (shift > 0 && (c >> shift & 0xF) == 0) shift -= 4;
        for (; shift >= 0; shift -= 4) to += digits[c >> shift & 0xF];
        to += '}';
    }
    void put(char32_t c) { append(out_, c); }

    std::optional<char32_t> hex(std::size_t count) noexcept {
        if (in_.size() - at_ < count) return std::nullopt;
        char32_t n = 0;
        for (std::size_t i = 0; i != count; ++i) {
            const char c = in_[at_ + i];
            const int digit = is_digit(c)              ? c - '0'
                              : (c >= 'a' && c <= 'f') ? c - 'a' + 10
                              : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                                       : -1;
            if (digit < 0) return std::nullopt;
            n = n * 16 + static_cast<char32_t>(digit);
        }
        at_ += count;
        return n;
    }

    /// After "\u".
    char32_t unicode() {
        if (take('{')) {
            std::size_t digits = 0;
            while (at_ + digits < in_.size() && in_[at_ + digits] != '}') ++digits;
            if (digits == 0 || digits > 8) invalid("a \\u{…} that is not a character");
            const auto c = hex(digits);
            if (!c || *c > 0x10FFFF || !take('}')) invalid("a \\u{…} that is not a character");
            return *c;
        }
        const auto first = hex(4);
        if (!first) invalid("a \\u without four hexadecimal digits");
        if (*first >= 0xD800 && *first < 0xDC00 && looking_at("\\u")) {
            const std::size_t back = at_;
            at_ += 2;
            const auto second = hex(4);
            if (second && *second >= 0xDC00 && *second < 0xE000) {
                return 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00);
            }
            at_ = back;
        }
        if (*first >= 0xD800 && *first < 0xE000) unsupported("an unpaired surrogate");
        return *first;
    }

    /// After "\p" or "\P".
    std::string property(bool negated) {
        const std::size_t end = take('{') ? in_.find('}', at_) : in_.npos;
        if (end == in_.npos) invalid("a \\p without {…}");
        std::string_view name = in_.substr(at_, end - at_);
        at_ = end + 1;
        const std::string shown(name);
        bool script = false;
        if (const auto equals = name.find('='); equals != name.npos) {
            const std::string_view key = name.substr(0, equals);
            name = name.substr(equals + 1);
            script = key == "Script" || key == "sc" || key == "Script_Extensions" || key == "scx";
            if (!script && key != "General_Category" && key != "gc") invalid("an unknown property \\p{" + shown + "}");
        }
        for (const char c : name) {
            if (!is_letter(c) && !is_digit(c) && c != '_') invalid("an unknown property \\p{" + shown + "}");
        }
        if (name.empty()) invalid("an empty \\p{}");
        if (!script) {
            if (name == "Any") return negated ? nothing(shown) : std::string(anything);
            if (name == "ASCII") return negated ? "\\x{80}-\\x{10FFFF}" : "\\x00-\\x7F";
            for (const auto& [longer, shorter] : categories) {
                if (name != longer) continue;
                if (shorter.empty()) unsupported("the property \\p{" + shown + "}");
                name = shorter;
                break;
            }
            if (name.size() > 2) unsupported("the property \\p{" + shown + "}");
        }
        return (negated ? "\\P{" : "\\p{") + std::string(name) + '}';
    }

    [[noreturn]] static std::string nothing(const std::string& name) { unsupported("the property \\P{" + name + "}"); }

    /// After the backslash, for escapes that have the same meaning within a class and outside.
    atom escaped() {
        const char c = peek();
        const auto plain = [&](char32_t meant) {
            ++at_;
            return atom{meant, {}};
        };
        const auto ranges = [&](std::string_view text) {
            ++at_;
            return atom{0, std::string(text)};
        };
        switch (c) {
            case 'd': return ranges("0-9");
            case 'D': return ranges("\\x00-\\x2F\\x3A-\\x{10FFFF}");
            case 'w': return ranges("0-9A-Za-z_");
            case 'W': return ranges("\\x00-\\x2F\\x3A-\\x40\\x5B-\\x5E\\x60\\x7B-\\x{10FFFF}");
            case 's': return ranges(space_ranges);
            case 'S': return ranges(other_than_space_ranges);
            case 't': return plain('\t');
            case 'n': return plain('\n');
            case 'v': return plain('\v');
            case 'f': return plain('\f');
            case 'r': return plain('\r');
            case '0':
                ++at_;
                if (!at_end() && is_digit(peek())) unsupported("an octal escape");
                return {};
            case 'c':
                ++at_;
                if (at_end() || !is_letter(peek())) invalid("a \\c without a letter");
                return {static_cast<char32_t>(in_[at_++]) & 0x1F, {}};
            case 'x': {
                ++at_;
                const auto n = hex(2);
                if (!n) invalid("a \\x without two hexadecimal digits");
                return {*n, {}};
            }
            case 'u': ++at_; return {unicode(), {}};
            case 'p':
            case 'P': ++at_; return {0, property(c == 'P')};
            default: break;
        }
        if (is_letter(c)) invalid(std::string("an unknown escape \\") + c);
        return {character(), {}};
    }

    void escape() {
        ++at_;
        if (at_end()) invalid("a \\ at the end");
        const char c = peek();
        if ((c >= '1' && c <= '9') || c == 'k') unsupported("a backreference");
        if (c == 'b' || c == 'B') {
            ++at_;
            (out_ += '\\') += c;
            return;
        }
        const atom a = escaped();
        if (a.is_class()) ((out_ += '[') += a.ranges) += ']';
        else put(a.character);
    }

    atom class_member() {
        if (!take('\\')) return {character(), {}};
        if (at_end()) invalid("a \\ at the end");
        if (take('b')) return {'\b', {}};
        if (take('-')) return {'-', {}};
        if (peek() >= '1' && peek() <= '9') unsupported("an octal escape");
        return escaped();
    }

    void character_class() {
        ++at_;
        const bool negated = take('^');
        std::string inside;
        for (;;) {
            if (at_end()) invalid("unmatched [");
            if (take(']')) break;
            const atom first = class_member();
            const bool range = looking_at("-") && !looking_at("-]") && at_ + 1 < in_.size();
            if (!range) {
                add(inside, first);
                continue;
            }
            ++at_;
            const atom last = class_member();
            if (first.is_class() || last.is_class()) {  // the hyphen is literal then
                add(inside, first);
                append(inside, '-');
                add(inside, last);
                continue;
            }
            if (first.character > last.character) invalid("a range out of order");
            append(inside, first.character);
            inside += '-';
            append(inside, last.character);
        }
        if (inside.empty()) {  // [] matches nothing, [^] matches any character
            out_ += negated ? "(?s:.)" : "[^\\x00-\\x{10FFFF}]";
            return;
        }
        out_ += negated ? "[^" : "[";
        (out_ += inside) += ']';
    }

    static void add(std::string& inside, const atom& a) {
        if (a.is_class()) inside += a.ranges;
        else append(inside, a.character);
    }

    void group() {
        ++at_;
        out_ += "(?:";
        if (!take('?')) return;
        if (take(':')) return;
        if (looking_at("=") || looking_at("!")) unsupported("a lookahead");
        if (looking_at("<=") || looking_at("<!")) unsupported("a lookbehind");
        if (take('<')) {
            const std::size_t end = in_.find('>', at_);
            if (end == in_.npos || end == at_) invalid("an unterminated group name");
            at_ = end + 1;
            return;
        }
        // (?i:…) of newer editions is unsupported; all other kinds are invalid in ECMA-262.
        std::size_t i = at_;
        while (i < in_.size() && (in_[i] == 'i' || in_[i] == 'm' || in_[i] == 's' || in_[i] == '-')) ++i;
        if (i != at_ && i < in_.size() && in_[i] == ':') unsupported("flags within a group");
        invalid("an unknown kind of group");
    }

    void brace() {
        // {2}, {2,} and {2,5} are quantifiers; any other brace is literal.
        std::size_t i = at_ + 1;
        const auto digits = [&] {
            const std::size_t start = i;
            while (i < in_.size() && is_digit(in_[i])) ++i;
            return i != start;
        };
        bool repeats = digits();
        if (repeats && i < in_.size() && in_[i] == ',') {
            ++i;
            digits();
        }
        repeats = repeats && i < in_.size() && in_[i] == '}';
        if (!repeats) {
            put(character());
            return;
        }
        out_ += in_.substr(at_, i + 1 - at_);
        at_ = i + 1;
    }

    std::string_view in_;
    std::size_t at_ = 0;
    std::string out_;
};

}  // namespace

translated_pattern translate_pattern(std::string_view ecma) {
    try {
        return {translated_pattern::outcome::good, translator(ecma).run()};
    } catch (refusal& r) {
        return {r.what, std::move(r.why)};
    }
}

}  // namespace keel::validation
