#pragma once

// Encryption of the state of multi-round requests. The client carries the state, but must not be able to read it, change it,
// or use it for another request (MRTR-06, MRTR-14).

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

/// From 64 hexadecimal digits, base64 with padding or base64url without padding, of 32 bytes. Throws std::invalid_argument; the
/// message does not contain the text.
state_key state_key_from_text(std::string_view text);

/// Seals with AES-256-GCM. The text form is base64url of
///
///   version (1 byte), key id (4), nonce (12, random), expiry (8, big endian), ciphertext, tag (16)
///
/// where everything before the ciphertext is authenticated together with the binding. Nonces are random: rotate the key
/// well before it has sealed 2^32 states. Thread-safe.
class state_sealer {
public:
    static constexpr std::size_t max_sealed_size = std::size_t{1} << 20;

    /// Seals with the first key and opens with all keys, which allows key rotation. Without keys: one random key, for states
    /// that need not outlive this process.
    explicit state_sealer(std::vector<state_key> keys = {});
    ~state_sealer();
    state_sealer(const state_sealer&) = delete;
    state_sealer& operator=(const state_sealer&) = delete;

    /// The request that a state belongs to. A state cannot be opened with another binding.
    struct binding {
        std::string method;
        std::string digest;  // parameter_digest of the request
        std::string audience;
        std::string principal;
    };

    /// Throws std::length_error if the text would be longer than max_sealed_size, std::runtime_error if OpenSSL fails.
    std::string seal(const binding&, std::string_view plain, std::int64_t expires_at_unix_seconds) const;

    struct opened {
        std::string plain;
        const char* problem = nullptr;          // why it was rejected; for the log only, never for the peer
        std::array<unsigned char, 12> nonce{};  // unique per state: identifies used ones

        explicit operator bool() const noexcept { return problem == nullptr; }
    };

    /// A state is valid while `now_unix_seconds` is less than its expiry.
    opened open(const binding&, std::string_view sealed, std::int64_t now_unix_seconds) const;

private:
    using key_id = std::array<unsigned char, 4>;
    static key_id id_of(const state_key&);

    std::vector<state_key> keys_;
    std::vector<key_id> ids_;
};

/// SHA-256, in hexadecimal, of the parameters that are equal in all rounds: all but `_meta`, `inputResponses` and
/// `requestState`. Independent of the order of members and the notation of numbers; missing parameters equal `{}`.
std::string parameter_digest(const json::value& params);

}  // namespace keel::server_side
