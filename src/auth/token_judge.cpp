#include "auth/token_judge.hpp"

#include "auth/digest.hpp"

#include <algorithm>
#include <utility>

namespace keel::inline KEEL_ABI::auth {

namespace {

token_refusal refusal_of(token_fault f) {
    switch (f) {
        case token_fault::expired: return token_refusal::expired;
        case token_fault::wrong_audience: return token_refusal::wrong_audience;
        default: return token_refusal::not_valid;
    }
}

}  // namespace

token_judge::token_judge(judge_options options) : options_(std::move(options)), cache_(options_.max_cached) {}

void token_judge::set_keys(std::shared_ptr<const key_snapshot> keys) {
    cache_.erase_if([&](const token_verdict& v) {
        return v.claims && v.claims->issuer == keys->issuer && !v.signer.empty() && !keys->keys.contains(v.signer);
    });
    // Tokens of new keys may have been rejected before.
    cache_.erase_if([](const token_verdict& v) { return !v.claims; });
    for (auto& each : keys_) {
        if (each->issuer != keys->issuer) continue;
        each = std::move(keys);
        return;
    }
    keys_.push_back(std::move(keys));
}

judgement token_judge::judge(const secret& token, unix_time now, bool keys_are_final) {
    const std::string digest = sha256(token.reveal());
    if (const token_verdict* known = cache_.find(digest, now)) {
        judgement out;
        out.what = known->claims ? judgement::kind::accepted : judgement::kind::rejected;
        out.claims = known->claims;
        out.refusal = known->refusal;
        return out;
    }
    return verify(token, digest, now, keys_are_final);
}

judgement token_judge::verify(const secret& token, const std::string& digest, unix_time now, bool keys_are_final) {
    std::string reason;
    const auto jws = parse_jws(token.reveal(), options_.max_token, reason);
    const auto claims = jws ? read_claims(*jws, reason) : std::nullopt;
    // What is cheap to find out is not remembered: garbage must not evict the verdicts on real tokens.
    if (!claims) return reject(token_refusal::not_valid, nullptr, now);
    if (const token_fault f = check_claims(*claims, options_.rules, now); f != token_fault::none)
        return reject(refusal_of(f), nullptr, now);

    judgement out;
    out.issuer = claims->issuer;
    if (!may_fail(now)) {
        out.what = judgement::kind::busy;
        return out;
    }
    const key_snapshot* keys = keys_of(claims->issuer);
    const public_key* signer = nullptr;
    const jws_verdict verdict =
        keys ? verify_jws(*jws, keys->keys, options_.algorithms, &signer) : jws_verdict::unknown_key;
    if (verdict != jws_verdict::valid) ++failures_;
    if (verdict == jws_verdict::unknown_key && options_.algorithms.contains(jws->signed_with) && !keys_are_final) {
        out.what = judgement::kind::needs_keys;
        return out;
    }
    if (verdict != jws_verdict::valid) return reject(token_refusal::not_valid, &digest, now);

    token_verdict v;
    v.claims = std::make_shared<const token_claims>(std::move(*claims));
    v.signer = signer->thumbprint();
    v.until = std::min(v.claims->expires_at + options_.rules.leeway, now + options_.cache_valid);
    out.what = judgement::kind::accepted;
    out.claims = v.claims;
    out.refusal = token_refusal::none;
    cache_.add(digest, std::move(v));
    return out;
}

judgement token_judge::reject(token_refusal why, const std::string* digest, unix_time now) {
    if (digest) cache_.add(*digest, {.refusal = why, .until = now + options_.cache_rejected});
    judgement out;
    out.refusal = why;
    return out;
}

const key_snapshot* token_judge::keys_of(const std::string& issuer) const noexcept {
    const auto found =
        std::find_if(keys_.begin(), keys_.end(), [&](const auto& each) { return each->issuer == issuer; });
    return found == keys_.end() ? nullptr : found->get();
}

bool token_judge::may_fail(unix_time now) noexcept {
    if (now != failure_second_) {
        failure_second_ = now;
        failures_ = 0;
    }
    return failures_ < options_.max_failures;
}

}  // namespace keel::auth
