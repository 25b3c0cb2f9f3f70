#include "logging/line_writer.hpp"

#include "json/utf8.hpp"

#include <algorithm>
#include <charconv>

namespace keel::inline KEEL_ABI::logging {

namespace {

void append_digits(std::string& out, std::uint64_t n, std::size_t width) {
    char digits[24];
    const std::string_view text(
        digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, n).ptr - digits));
    out.append(width > text.size() ? width - text.size() : 0, '0').append(text);
}

void append_code(std::string& out, unsigned code) {
    constexpr std::string_view hex = "0123456789abcdef";
    out += "\\u00";
    out += hex[code >> 4 & 15];
    out += hex[code & 15];
}

/// Length of the valid character that begins here; 0 if it is invalid.
std::size_t character_length(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (text.size() < length) return 0;
    const json::detail::utf8_run run = json::detail::skip_non_ascii(text.data(), text.data() + length);
    return run.valid && run.end == text.data() + length ? length : 0;
}

/// Texts that need no quotes in a text line.
bool is_plain(std::string_view text) {
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return c == ' ' || c == '"' || c == '\\' || c == '=' || c < 0x20; });
}

}  // namespace

void append_escaped(std::string& out, std::string_view text, std::size_t max) {
    const std::size_t start = out.size();
    while (!text.empty()) {
        const std::size_t before = out.size();
        const auto c = static_cast<unsigned char>(text[0]);
        std::size_t length = 1;
        if (c == '"' || c == '\\') {
            out += '\\';
            out += static_cast<char>(c);
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if (c == '\t') {
            out += "\\t";
        } else if (c < 0x20 || c == 0x7F) {
            append_code(out, c);
        } else if (c < 0x80) {
            out += static_cast<char>(c);
        } else if (const std::size_t whole = character_length(text); whole == 0) {
            out += "\xEF\xBF\xBD";
        } else {
            length = whole;
            const auto second = static_cast<unsigned char>(text[1]);
            if (c == 0xC2 && second < 0xA0)
                append_code(out, second);  // terminals obey the control characters of Latin-1 too
            else out += text.substr(0, whole);
        }
        if (out.size() - start > max) {
            out.resize(before);
            out += "…";
            return;
        }
        text.remove_prefix(length);
    }
}

void append_time(std::string& out, std::chrono::system_clock::time_point t) {
    using namespace std::chrono;
    const auto day = floor<days>(t);
    const year_month_day date(day);
    const hh_mm_ss time(floor<milliseconds>(t - day));
    append_digits(out, static_cast<std::uint64_t>(std::max(0, static_cast<int>(date.year()))), 4);
    out += '-';
    append_digits(out, static_cast<unsigned>(date.month()), 2);
    out += '-';
    append_digits(out, static_cast<unsigned>(date.day()), 2);
    out += 'T';
    append_digits(out, static_cast<std::uint64_t>(time.hours().count()), 2);
    out += ':';
    append_digits(out, static_cast<std::uint64_t>(time.minutes().count()), 2);
    out += ':';
    append_digits(out, static_cast<std::uint64_t>(time.seconds().count()), 2);
    out += '.';
    append_digits(out, static_cast<std::uint64_t>(time.subseconds().count()), 3);
    out += 'Z';
}

void append_milliseconds(std::string& out, std::chrono::nanoseconds t) {
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(t).count();
    const std::uint64_t n = micros > 0 ? static_cast<std::uint64_t>(micros) : 0;
    append_digits(out, n / 1000, 1);
    out += '.';
    append_digits(out, n % 1000, 3);
}

line_writer::line_writer(std::string& out, log_format format, std::chrono::system_clock::time_point time)
    : out_(out), format_(format) {
    if (format == log_format::json) out_ += R"({"time":")";
    append_time(out_, time);
    if (format == log_format::json) out_ += '"';
}

void line_writer::begin_field(std::string_view key) {
    if (format_ == log_format::json) out_.append(",\"").append(key).append("\":");
    else out_.append(" ").append(key).append("=");
}

void line_writer::add(std::string_view key, std::string_view text, std::size_t max) {
    if (text.empty()) return;
    begin_field(key);
    const bool quotes = format_ == log_format::json || !is_plain(text);
    if (quotes) out_ += '"';
    append_escaped(out_, text, max);
    if (quotes) out_ += '"';
}

void line_writer::add(std::string_view key, std::int64_t number) {
    begin_field(key);
    out_ += std::to_string(number);
}

void line_writer::add(std::string_view key, std::chrono::nanoseconds t) {
    begin_field(key);
    append_milliseconds(out_, t);
}

void line_writer::add_words(std::string_view words, std::size_t max) {
    out_ += ' ';
    append_escaped(out_, words, max);
}

void line_writer::end() {
    if (format_ == log_format::json) out_ += '}';
}

}  // namespace keel::logging
