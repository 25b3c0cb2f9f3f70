#include "auth/static_tokens.hpp"

#include "auth/digest.hpp"
#include "auth/pkce.hpp"
#include "http_common/tokens.hpp"
#include "protocol/uri.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace keel::inline KEEL_ABI::auth {

namespace {

std::string_view next_word(std::string_view& line) {
    while (!line.empty() && http::is_blank(line.front())) line.remove_prefix(1);
    std::size_t end = 0;
    while (end < line.size() && !http::is_blank(line[end])) ++end;
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(end);
    return word;
}

/// The 32 bytes of 64 hexadecimal digits; "" if the text is not that.
std::string digest_from_hex(std::string_view text) {
    std::string out;
    if (text.size() != 64) return out;
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const int high = protocol::hex_digit(text[i]);
        const int low = protocol::hex_digit(text[i + 1]);
        if (high < 0 || low < 0) return {};
        out += static_cast<char>(high * 16 + low);
    }
    return out;
}

std::string hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    for (char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += digits[byte >> 4];
        out += digits[byte & 15];
    }
    return out;
}

}  // namespace

static_tokens static_tokens::parse(std::string_view text) {
    static_tokens out;
    std::size_t number = 0;
    while (!text.empty()) {
        ++number;
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        const auto refuse = [&](const char* why) {
            return std::invalid_argument("line " + std::to_string(number) + ": " + why);
        };
        const std::string_view name = next_word(line);
        if (name.empty() || name.starts_with('#')) continue;
        if (!http::is_token(name)) throw refuse("invalid name");
        std::string digest = digest_from_hex(next_word(line));
        if (digest.empty()) throw refuse("the second word must be the SHA-256 of the token, 64 hexadecimal digits");
        const auto scopes = scope_set::parse(line);
        if (!scopes) throw refuse("invalid scope");
        if (out.entries_.size() == max_entries) throw refuse("too many tokens");
        if (!out.entries_.emplace(std::move(digest), entry{std::string(name), *scopes}).second)
            throw refuse("the same token is in the file twice");
    }
    return out;
}

const static_tokens::entry* static_tokens::find(const secret& token) const {
    const auto found = entries_.find(sha256(token.reveal()));
    return found == entries_.end() ? nullptr : &found->second;
}

static_tokens::made static_tokens::make(std::string_view name, const scope_set& scopes) {
    if (!http::is_token(name) || name.starts_with('#'))
        throw std::invalid_argument("invalid name: use letters, digits, '-', '.' and '_'");
    secret token = random_text(make_random_bytes());
    std::string line = std::string(name) + ' ' + hex(sha256(token.reveal()));
    if (!scopes.empty()) line += ' ' + scopes.text();
    return {std::move(token), std::move(line)};
}

}  // namespace keel::auth
