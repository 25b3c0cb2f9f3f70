#pragma once

// Decides whether a resource server accepts an access token (AUS-03, AUS-04). No I/O: keys are given to it.

#include "auth/verdict_cache.hpp"

#include <keel/secret.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace keel::inline KEEL_ABI::auth {

struct judge_options {
    token_rules rules = {};
    algorithm_set algorithms = default_algorithms;
    std::size_t max_token = 8 * 1024;
    std::size_t max_cached = 10'000;
    std::chrono::seconds cache_valid = std::chrono::minutes(5);
    std::chrono::seconds cache_rejected = std::chrono::seconds(10);
    /// Failed verifications per second; beyond them, unknown tokens are not verified.
    unsigned max_failures = 200;
};

/// The keys of one issuer at one time. Shared by all threads, replaced as a whole.
struct key_snapshot {
    std::string issuer = {};
    key_set keys = {};
};

struct judgement {
    enum class kind : unsigned char {
        accepted,    // `claims`
        rejected,    // `refusal`
        needs_keys,  // the keys of `issuer` are missing or too old: fetch them, then ask again
        busy,        // too many failed verifications: 429
    };
    kind what = kind::rejected;
    std::shared_ptr<const token_claims> claims = {};
    token_refusal refusal = token_refusal::not_valid;
    std::string issuer = {};
};

/// One per thread; not thread-safe. A known token is judged without parsing it, and never delayed by the failures of others.
class token_judge {
public:
    explicit token_judge(judge_options options);

    /// Replaces the keys of an issuer. Verdicts of keys that are no longer in the set become invalid.
    void set_keys(std::shared_ptr<const key_snapshot> keys);

    /// Judges a JWT. `keys_are_final`: the keys have just been fetched, so a token of an unknown key is rejected instead of needs_keys.
    judgement judge(const secret& token, unix_time now, bool keys_are_final = false);

    std::size_t cached() const noexcept { return cache_.size(); }

private:
    judgement verify(const secret& token, const std::string& digest, unix_time now, bool keys_are_final);
    judgement reject(token_refusal why, const std::string* digest, unix_time now);
    const key_snapshot* keys_of(const std::string& issuer) const noexcept;
    bool may_fail(unix_time now) noexcept;

    const judge_options options_;
    verdict_cache cache_;
    std::vector<std::shared_ptr<const key_snapshot>> keys_;
    unix_time failure_second_ = {};
    unsigned failures_ = 0;
};

}  // namespace keel::auth
