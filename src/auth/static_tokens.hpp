#pragma once

// Static tokens of a resource server: a file with the digests of tokens, never the tokens themselves.

#include "auth/scopes.hpp"

#include <keel/secret.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::auth {

/// Lines `name sha256 scope…`: the name of the client, the SHA-256 of its token in hexadecimal digits, and its scopes. Empty lines and
/// lines that start with '#' are ignored.
class static_tokens {
public:
    struct entry {
        std::string name = {};
        scope_set scopes = {};
    };
    static constexpr std::size_t max_entries = 10'000;

    /// Throws std::invalid_argument with the number of an invalid line. The message contains nothing of the line.
    static static_tokens parse(std::string_view text);
    /// The client with this token, or nullptr. It looks up the digest of the token, so the time does not depend on how much of a token
    /// is right.
    const entry* find(const secret& token) const;
    std::size_t size() const noexcept { return entries_.size(); }

    /// A new random token, and its line for the file.
    struct made {
        secret token;
        std::string line;
    };
    /// Throws std::invalid_argument if the name is not a token of RFC 9110.
    static made make(std::string_view name, const scope_set& scopes);

private:
    std::map<std::string, entry, std::less<>> entries_;  // by digest, 32 bytes
};

}  // namespace keel::auth
