#pragma once

// The state of requests that take several rounds. It travels through the client, who must neither read nor change it,
// nor use it for another request (MRTR-06, MRTR-14).

#include <keel/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::server_side {

struct state_key {
    std::array<unsigned char, 32> secret{};
};

/// From 64 hexadecimal digits, or base64 of 32 bytes (either alphabet, with padding in the usual one and without in the
/// other). Throws std::invalid_argument, which does not repeat the text.
state_key state_key_from_text(std::string_view text);

/// Seals with AES-256-GCM. The text form is base64url of
///
///   version (1 byte), key id (4), nonce (12, random), expiry (8, big endian), ciphertext, tag (16)
///
/// where everything before the ciphertext is authenticated together with the binding. Nonces are random: change the key
/// well before 2^32 states were sealed with it. All threads may use a sealer at once.
class state_sealer {
public:
    static constexpr std::size_t max_sealed_size = std::size_t{1} << 20;

    /// The first key seals; all of them open, so that keys can be changed while states are under way. Without any: one
    /// random key, for states that need not outlive this process.
    explicit state_sealer(std::vector<state_key> keys = {});
    ~state_sealer();
    state_sealer(const state_sealer&) = delete;
    state_sealer& operator=(const state_sealer&) = delete;

    /// What a state belongs to. One that was sealed for another binding does not open.
    struct binding {
        std::string method;
        std::string digest;  // parameter_digest of the request
        std::string audience;
        std::string principal;
    };

    /// Throws std::length_error when the text would be longer than max_sealed_size, std::runtime_error when OpenSSL
    /// fails (no random bytes).
    std::string seal(const binding&, std::string_view plain, std::int64_t expires_at_unix_seconds) const;

    struct opened {
        std::string plain;
        const char* problem = nullptr;          // why it was refused; for the log only, the peer learns nothing
        std::array<unsigned char, 12> nonce{};  // different for each state: what a list of used ones can hold

        explicit operator bool() const noexcept { return problem == nullptr; }
    };

    /// A state is good until the second before it expires.
    opened open(const binding&, std::string_view sealed, std::int64_t now_unix_seconds) const;

private:
    using key_id = std::array<unsigned char, 4>;
    static key_id id_of(const state_key&);

    std::vector<state_key> keys_;
    std::vector<key_id> ids_;
};

/// SHA-256, in hexadecimal, over the parameters of a request without `_meta`, `inputResponses` and `requestState`: what
/// stays the same from one round to the next. Neither the order of members nor the way a number is written matters;
/// missing parameters are empty ones.
std::string parameter_digest(const json::value& params);

}  // namespace keel::server_side
