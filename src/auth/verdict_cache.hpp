#pragma once

// Remembers the verdicts on access tokens, so that a known token costs one digest and one lookup.

#include "auth/jwt.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace keel::inline KEEL_ABI::auth {

/// Why a token is rejected; the client learns no more than this.
enum class token_refusal : unsigned char { none, not_valid, expired, wrong_audience };

/// A verdict: the claims of a valid token, or why it was rejected.
struct token_verdict {
    std::shared_ptr<const token_claims> claims = {};  // null: rejected
    token_refusal refusal = token_refusal::none;
    std::string signer = {};  // thumbprint of the key; "" if the verdict does not depend on a key
    unix_time until = {};     // when the verdict must be made anew
};

/// By the SHA-256 of the token; the token itself is not stored. Evicts the least recently used entry when it is full. Not thread-safe:
/// each thread has its own.
class verdict_cache {
public:
    explicit verdict_cache(std::size_t max_entries = 10'000) : most_(max_entries) {}

    /// The verdict, or null if there is none or it has expired. Valid until the next call.
    const token_verdict* find(std::string_view digest, unix_time now);
    void add(std::string_view digest, token_verdict v);
    /// Removes the verdicts for which `f(verdict)` is true.
    template <class F>
    void erase_if(F f) {
        for (auto it = used_.begin(); it != used_.end();) {
            if (f(it->verdict)) {
                index_.erase(it->digest);
                it = used_.erase(it);
            } else {
                ++it;
            }
        }
    }
    std::size_t size() const noexcept { return used_.size(); }

private:
    struct entry {
        std::string digest;
        token_verdict verdict;
    };
    /// A digest is a hash already.
    struct first_bytes {
        std::size_t operator()(std::string_view digest) const noexcept {
            std::size_t out = 0;
            std::memcpy(&out, digest.data(), std::min(digest.size(), sizeof out));
            return out;
        }
    };

    const std::size_t most_;
    std::list<entry> used_;                                                                // most recently used first
    std::unordered_map<std::string_view, std::list<entry>::iterator, first_bytes> index_;  // the keys are in used_
};

}  // namespace keel::auth
