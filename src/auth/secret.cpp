#include <keel/secret.hpp>

#include <openssl/crypto.h>

#include <algorithm>
#include <utility>

namespace keel::inline KEEL_ABI {

secret::secret(std::string_view text) : text_(text.empty() ? nullptr : new char[text.size()]), size_(text.size()) {
    std::copy(text.begin(), text.end(), text_.get());
}

secret::secret(const secret& other) : secret(other.reveal()) {}

secret::secret(secret&& other) noexcept : text_(std::move(other.text_)), size_(std::exchange(other.size_, 0)) {}

secret& secret::operator=(const secret& other) { return *this = secret(other); }

secret& secret::operator=(secret&& other) noexcept {
    if (this == &other) return *this;
    wipe();
    text_ = std::move(other.text_);
    size_ = std::exchange(other.size_, 0);
    return *this;
}

secret::~secret() { wipe(); }

bool secret::equal(const secret& a, const secret& b) noexcept {
    return a.size_ == b.size_ && (a.size_ == 0 || CRYPTO_memcmp(a.text_.get(), b.text_.get(), a.size_) == 0);
}

void secret::wipe() noexcept {
    if (size_ != 0) OPENSSL_cleanse(text_.get(), size_);
}

}  // namespace keel
