#include "server/sealed_state.hpp"

#include "protocol/base64.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace keel::inline KEEL_ABI::server_side {

namespace {

constexpr unsigned char version = 1;
constexpr std::size_t id_size = 4;
constexpr std::size_t nonce_size = 12;
constexpr std::size_t header_size = 1 + id_size + nonce_size + 8;
constexpr std::size_t tag_size = 16;

struct free_cipher {
    void operator()(EVP_CIPHER_CTX* c) const noexcept { EVP_CIPHER_CTX_free(c); }
};
using cipher = std::unique_ptr<EVP_CIPHER_CTX, free_cipher>;

void require(int done, const char* what) {
    if (done != 1) throw std::runtime_error(std::string("keel: OpenSSL: ") + what + " failed");
}

const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

void append_big_endian(std::string& out, std::uint64_t n) {
    for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(static_cast<unsigned char>(n >> shift));
}

std::uint64_t read_big_endian(std::string_view text) {
    std::uint64_t n = 0;
    for (char c : text) n = n << 8 | static_cast<unsigned char>(c);
    return n;
}

/// With length prefixes, so that different bindings produce different bytes.
std::string associated_data(std::string_view header, const state_sealer::binding& b) {
    std::string out(header);
    for (const std::string* field : {&b.method, &b.digest, &b.audience, &b.principal}) {
        append_big_endian(out, field->size());
        out += *field;
    }
    return out;
}

/// A cipher context for one message, with the associated data added.
cipher begin(bool encrypts, const state_key& key, std::string_view nonce, std::string_view associated) {
    cipher c(EVP_CIPHER_CTX_new());
    require(c ? 1 : 0, "making a cipher");
    require(EVP_CipherInit_ex(c.get(), EVP_aes_256_gcm(), nullptr, key.secret.data(), bytes(nonce), encrypts ? 1 : 0),
            "starting a cipher");
    int written = 0;
    require(EVP_CipherUpdate(c.get(), nullptr, &written, bytes(associated), static_cast<int>(associated.size())),
            "adding associated data");
    return c;
}

/// Skips empty input: OpenSSL treats a null pointer specially.
void convert(EVP_CIPHER_CTX* c, unsigned char* to, std::string_view from, const char* what) {
    int written = 0;
    if (!from.empty()) require(EVP_CipherUpdate(c, to, &written, bytes(from), static_cast<int>(from.size())), what);
}

/// Returns true if the tag is valid; otherwise `plain` is meaningless.
bool decrypt(const state_key& key, std::string_view nonce, std::string_view associated, std::string_view ciphertext,
             std::string tag, std::string& plain) {
    const cipher c = begin(false, key, nonce, associated);
    plain.resize(ciphertext.size());
    convert(c.get(), bytes(plain), ciphertext, "decrypting");
    require(EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag.size()), tag.data()),
            "setting a tag");
    unsigned char none[EVP_MAX_BLOCK_LENGTH];
    int written = 0;
    return EVP_CipherFinal_ex(c.get(), none, &written) == 1;
}

void cleanse(std::string& text) { OPENSSL_cleanse(text.data(), text.size()); }

}  // namespace

state_key state_key_from_text(std::string_view text) {
    state_key key;
    std::string raw;
    const auto digit = [](char c) {
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
    };
    bool good = false;
    if (text.size() == key.secret.size() * 2) {
        good = std::ranges::all_of(text, [&](char c) { return digit(c) >= 0; });
        for (std::size_t i = 0; good && i < text.size(); i += 2)
            raw += static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1]));
    } else {
        raw.reserve(text.size());
        const auto form = text.ends_with('=') ? protocol::base64_form::padded : protocol::base64_form::url;
        good = protocol::append_base64_decoded(raw, text, form) && raw.size() == key.secret.size();
    }
    if (good) std::ranges::transform(raw, key.secret.begin(), [](char c) { return static_cast<unsigned char>(c); });
    cleanse(raw);
    if (!good) throw std::invalid_argument("keel: invalid state key: use 64 hexadecimal digits or base64 of 32 bytes");
    return key;
}

state_sealer::state_sealer(std::vector<state_key> keys) : keys_(std::move(keys)) {
    if (keys_.empty()) {
        keys_.emplace_back();
        require(RAND_bytes(keys_[0].secret.data(), static_cast<int>(keys_[0].secret.size())), "making a random key");
    }
    for (const state_key& key : keys_) ids_.push_back(id_of(key));
}

state_sealer::~state_sealer() {
    for (state_key& key : keys_) OPENSSL_cleanse(key.secret.data(), key.secret.size());
}

state_sealer::key_id state_sealer::id_of(const state_key& key) {
    constexpr std::string_view label = "keel state key id";
    std::string labelled(label);
    labelled.append(reinterpret_cast<const char*>(key.secret.data()), key.secret.size());
    unsigned char digest[EVP_MAX_MD_SIZE];
    const int done = EVP_Digest(labelled.data(), labelled.size(), digest, nullptr, EVP_sha256(), nullptr);
    cleanse(labelled);
    require(done, "SHA-256");
    key_id id;
    std::copy_n(digest, id.size(), id.begin());
    return id;
}

std::string state_sealer::seal(const binding& b, std::string_view plain, std::int64_t expires_at) const {
    // Base64: four characters per three bytes.
    if (plain.size() > max_sealed_size / 4 * 3 - header_size - tag_size)
        throw std::length_error("keel: the state of a request is too large");

    std::string sealed(1, static_cast<char>(version));
    sealed.append(reinterpret_cast<const char*>(ids_[0].data()), id_size);
    std::array<unsigned char, nonce_size> nonce;
    require(RAND_bytes(nonce.data(), static_cast<int>(nonce.size())), "making random bytes");
    sealed.append(reinterpret_cast<const char*>(nonce.data()), nonce.size());
    append_big_endian(sealed, static_cast<std::uint64_t>(expires_at));

    const std::string_view header = sealed;
    const cipher c = begin(true, keys_[0], header.substr(1 + id_size, nonce_size), associated_data(header, b));
    sealed.resize(header_size + plain.size() + tag_size);
    unsigned char* to = bytes(sealed) + header_size;
    convert(c.get(), to, plain, "encrypting");
    int written = 0;
    require(EVP_CipherFinal_ex(c.get(), to + plain.size(), &written), "encrypting");
    require(EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag_size), to + plain.size()),
            "reading a tag");
    std::string text;
    protocol::append_base64(text, sealed, protocol::base64_form::url);
    return text;
}

state_sealer::opened state_sealer::open(const binding& b, std::string_view text, std::int64_t now) const {
    opened out;
    const auto refuse = [&](const char* why) {
        out.plain.clear();
        out.problem = why;
        return out;
    };
    if (text.size() > max_sealed_size) return refuse("too large");
    std::string raw;
    if (!protocol::append_base64_decoded(raw, text, protocol::base64_form::url)) return refuse("not base64url");
    if (raw.empty() || static_cast<unsigned char>(raw[0]) != version) return refuse("unknown version");
    if (raw.size() < header_size + tag_size) return refuse("too short");

    const std::string_view sealed = raw;
    const std::string_view header = sealed.substr(0, header_size);
    const std::string_view id = header.substr(1, id_size);
    const std::string_view nonce = header.substr(1 + id_size, nonce_size);
    const std::string_view tag = sealed.substr(sealed.size() - tag_size);
    const std::string_view ciphertext = sealed.substr(header_size, sealed.size() - header_size - tag_size);
    const std::string associated = associated_data(header, b);

    bool known = false;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
        // Key ids are short: two keys may have the same id.
        if (!std::equal(id.begin(), id.end(), ids_[i].begin(),
                        [](char x, unsigned char y) { return static_cast<unsigned char>(x) == y; }))
            continue;
        known = true;
        if (!decrypt(keys_[i], nonce, associated, ciphertext, std::string(tag), out.plain)) continue;
        std::ranges::copy(nonce, out.nonce.begin());
        // Checked last: the expiry is authentic only after decryption.
        if (static_cast<std::int64_t>(read_big_endian(header.substr(header_size - 8))) <= now) return refuse("expired");
        return out;
    }
    return refuse(known ? "modified, or sealed for another method, parameters, audience or principal"
                        : "sealed with an unknown key");
}

}  // namespace keel::server_side
