#include "protocol/base64.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace keel::inline KEEL_ABI::protocol {

namespace {

constexpr std::string_view padded_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view url_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::uint8_t no_digit = 0x80;  // a separate bit, so that several look-ups can be checked at once

constexpr std::array<std::uint8_t, 256> values_of(std::string_view digits) {
    std::array<std::uint8_t, 256> values{};
    values.fill(no_digit);
    for (std::size_t i = 0; i < digits.size(); ++i)
        values[static_cast<unsigned char>(digits[i])] = static_cast<std::uint8_t>(i);
    return values;
}

constexpr auto padded_values = values_of(padded_digits);
constexpr auto url_values = values_of(url_digits);

unsigned byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }
char as_char(unsigned byte) { return static_cast<char>(static_cast<unsigned char>(byte)); }

}  // namespace

void append_base64(std::string& out, std::string_view bytes, base64_form form) {
    const char* digits = (form == base64_form::url ? url_digits : padded_digits).data();
    const std::size_t whole = bytes.size() / 3;
    const std::size_t rest = bytes.size() % 3;
    const std::size_t tail = rest == 0 ? 0 : form == base64_form::url ? rest + 1 : 4;
    const std::size_t before = out.size();
    out.resize(before + whole * 4 + tail);
    char* to = out.data() + before;
    std::size_t from = 0;
    for (std::size_t n = whole; n != 0; --n, from += 3, to += 4) {
        const unsigned bits = byte_at(bytes, from) << 16 | byte_at(bytes, from + 1) << 8 | byte_at(bytes, from + 2);
        to[0] = digits[bits >> 18];
        to[1] = digits[bits >> 12 & 63];
        to[2] = digits[bits >> 6 & 63];
        to[3] = digits[bits & 63];
    }
    if (rest == 0) return;
    const unsigned bits = byte_at(bytes, from) << 16 | (rest == 2 ? byte_at(bytes, from + 1) << 8 : 0);
    to[0] = digits[bits >> 18];
    to[1] = digits[bits >> 12 & 63];
    if (rest == 2) to[2] = digits[bits >> 6 & 63];
    if (form == base64_form::padded) {
        if (rest == 1) to[2] = '=';
        to[3] = '=';
    }
}

bool append_base64_decoded(std::string& out, std::string_view text, base64_form form) {
    if (form == base64_form::padded) {
        if (text.size() % 4 != 0) return false;
        if (text.ends_with('=')) text.remove_suffix(text.ends_with("==") ? 2 : 1);
    }
    const auto& values = form == base64_form::url ? url_values : padded_values;
    const std::size_t whole = text.size() / 4;
    const std::size_t rest = text.size() % 4;
    if (rest == 1) return false;  // six bits are not a whole byte
    const std::size_t before = out.size();
    out.resize(before + whole * 3 + (rest == 0 ? 0 : rest - 1));
    char* to = out.data() + before;
    std::size_t from = 0;
    unsigned seen = 0;
    const auto value_at = [&](std::size_t i) {
        const unsigned v = values[byte_at(text, i)];
        seen |= v;
        return v;
    };
    for (std::size_t n = whole; n != 0; --n, from += 4, to += 3) {
        const unsigned bits =
            value_at(from) << 18 | value_at(from + 1) << 12 | value_at(from + 2) << 6 | value_at(from + 3);
        to[0] = as_char(bits >> 16);
        to[1] = as_char(bits >> 8);
        to[2] = as_char(bits);
    }
    unsigned stray = 0;  // bits of the last character that are not part of a byte
    if (rest == 2) {
        const unsigned bits = value_at(from) << 6 | value_at(from + 1);
        to[0] = as_char(bits >> 4);
        stray = bits & 0xF;
    } else if (rest == 3) {
        const unsigned bits = value_at(from) << 12 | value_at(from + 1) << 6 | value_at(from + 2);
        to[0] = as_char(bits >> 10);
        to[1] = as_char(bits >> 2);
        stray = bits & 3;
    }
    if ((seen & no_digit) != 0 || stray != 0) {
        out.resize(before);
        return false;
    }
    return true;
}

namespace {

std::string encoded(std::string_view bytes, base64_form form) {
    std::string out;
    append_base64(out, bytes, form);
    return out;
}

std::optional<std::string> decoded(std::string_view text, base64_form form) {
    std::string out;
    if (!append_base64_decoded(out, text, form)) return std::nullopt;
    return out;
}

}  // namespace

}  // namespace keel::protocol

namespace keel::inline KEEL_ABI {

using protocol::base64_form;

std::string base64_encode(std::string_view bytes) { return protocol::encoded(bytes, base64_form::padded); }
std::optional<std::string> base64_decode(std::string_view text) { return protocol::decoded(text, base64_form::padded); }
std::string base64url_encode(std::string_view bytes) { return protocol::encoded(bytes, base64_form::url); }
std::optional<std::string> base64url_decode(std::string_view text) { return protocol::decoded(text, base64_form::url); }

}  // namespace keel
