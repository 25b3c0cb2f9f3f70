#include "server/cursor.hpp"

#include "protocol/base64.hpp"

#include <keel/error.hpp>

namespace keel::inline KEEL_ABI::server_side {

namespace {

// One byte for the list, one for the stage, 8-byte numbers, the inner cursor, and a 4-byte checksum.
constexpr std::size_t check_size = 4;
constexpr std::size_t short_size = 2 + 8 + check_size;
constexpr std::size_t long_size = short_size + 8 + 8;  // plus the inner cursor
constexpr std::size_t max_text = (long_size + list_position::max_inner + 2) / 3 * 4;

void put(std::string& out, std::uint64_t n, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(static_cast<unsigned char>(n >> (8 * i)));
}

std::uint64_t take(std::string_view& from, std::size_t bytes) noexcept {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
        n |= static_cast<std::uint64_t>(static_cast<unsigned char>(from[i])) << (8 * i);
    }
    from.remove_prefix(bytes);
    return n;
}

std::uint64_t check_of(std::string_view bytes) noexcept { return digest_of(bytes) >> 32; }

}  // namespace

// FNV-1a, 64 bits.
std::uint64_t digest_of(std::string_view text) noexcept {
    std::uint64_t h = 0xcbf29ce484222325;
    for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return h;
}

std::string write_cursor(protocol::method list, const list_position& at) {
    std::string bytes;
    put(bytes, static_cast<std::uint64_t>(list), 1);
    put(bytes, at.behind_templates ? 1 : 0, 1);
    put(bytes, at.number, 8);
    if (at.behind_templates) {
        put(bytes, at.skip, 8);
        put(bytes, at.last_seen, 8);
        bytes += at.inner;
    }
    put(bytes, check_of(bytes), check_size);
    std::string text;
    protocol::append_base64(text, bytes, protocol::base64_form::url);
    return text;
}

std::optional<list_position> read_cursor(protocol::method list, std::string_view text) {
    std::string bytes;
    if (text.size() > max_text || !protocol::append_base64_decoded(bytes, text, protocol::base64_form::url) ||
        bytes.size() < short_size) {
        return std::nullopt;
    }
    std::string_view rest = bytes;
    std::string_view check = rest.substr(rest.size() - check_size);
    rest.remove_suffix(check_size);
    if (take(check, check_size) != check_of(rest)) return std::nullopt;
    if (take(rest, 1) != static_cast<std::uint64_t>(list)) return std::nullopt;
    const std::uint64_t stage = take(rest, 1);
    list_position at;
    at.number = take(rest, 8);
    if (stage == 0) return rest.empty() ? std::optional(at) : std::nullopt;
    if (stage != 1 || list != protocol::method::resources_list || bytes.size() < long_size) return std::nullopt;
    at.behind_templates = true;
    at.skip = take(rest, 8);
    at.last_seen = take(rest, 8);
    if (rest.size() > list_position::max_inner) return std::nullopt;
    at.inner = rest;
    return at;
}

list_position wanted_position(protocol::method list, const json::value& params) {
    const json::value* cursor = params.find("cursor");
    if (!cursor) return {};
    auto text = cursor->if_string();
    if (!text) throw error(error_code::invalid_params, "cursor: expected string");
    std::optional<list_position> at = read_cursor(list, *text);
    if (!at) throw error(error_code::invalid_params, "cursor: invalid or of another list");
    return *at;
}

}  // namespace keel::server_side
