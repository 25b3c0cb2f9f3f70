#include "tls/tls_context.hpp"

#include "tls/openssl_deleters.hpp"
#include "transport/descriptor.hpp"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <sys/stat.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace keel::inline KEEL_ABI::tls {

namespace {

using transport::descriptor;
using transport::throw_errno;

/// The content of a small file. Erased by the destructor, because it may be a key.
class secret_text {
public:
    secret_text(const char* what, const std::string& path) {
        descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
        if (!file) throw_errno(cannot(what, path));
        text_.resize(most + 1);  // allocated once: growing would leave copies in memory
        for (ssize_t n = 1; n != 0 && size_ < text_.size();) {
            n = ::read(file.get(), text_.data() + size_, text_.size() - size_);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) throw_errno(cannot(what, path));
            size_ += static_cast<std::size_t>(n);
        }
        if (size_ > most) throw std::runtime_error(cannot(what, path) + ": it is larger than 128 KiB");
    }
    secret_text(const secret_text&) = delete;
    secret_text& operator=(const secret_text&) = delete;
    ~secret_text() { OPENSSL_cleanse(text_.data(), size_); }

    std::unique_ptr<BIO, free_bio> open() const {
        std::unique_ptr<BIO, free_bio> made(BIO_new_mem_buf(text_.data(), static_cast<int>(size_)));
        require(made != nullptr, "keel: out of memory in OpenSSL");
        return made;
    }

private:
    static constexpr std::size_t most = 128 * 1024;
    static std::string cannot(const char* what, const std::string& path) {
        return std::string("cannot read the ") + what + " file " + path;
    }
    std::string text_;
    std::size_t size_ = 0;
};

// OpenSSL would ask for a passphrase on the terminal. `asked` is a bool, or null.
int no_password(char*, int, int, void* asked) {
    if (asked) *static_cast<bool*>(asked) = true;
    return -1;
}

bool is_end_of_pem() {
    unsigned long error = ERR_peek_last_error();
    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

void use_files(SSL_CTX* to, const tls_files& files) {
    const std::string not_a_chain = "the file " + files.certificate_chain + " contains no usable certificate chain";
    const std::string not_a_key = "the file " + files.private_key + " contains no usable private key";
    ERR_clear_error();
    secret_text chain("certificate", files.certificate_chain);
    auto text = chain.open();
    std::unique_ptr<X509, free_certificate> own(PEM_read_bio_X509_AUX(text.get(), nullptr, no_password, nullptr));
    if (!own || SSL_CTX_use_certificate(to, own.get()) != 1) refuse(not_a_chain);
    while (X509* next = PEM_read_bio_X509(text.get(), nullptr, no_password, nullptr)) {
        std::unique_ptr<X509, free_certificate> issuer(next);
        if (SSL_CTX_add1_chain_cert(to, issuer.get()) != 1) refuse(not_a_chain);
    }
    if (!is_end_of_pem()) refuse(not_a_chain);
    ERR_clear_error();

    secret_text secret("private key", files.private_key);
    bool locked = false;
    std::unique_ptr<EVP_PKEY, free_key> key(
        PEM_read_bio_PrivateKey(secret.open().get(), nullptr, no_password, &locked));
    if (locked) ERR_clear_error();
    if (locked) throw std::runtime_error(not_a_key + ": it is encrypted with a passphrase");
    if (!key) refuse(not_a_key);
    if (X509_check_private_key(own.get(), key.get()) != 1) {
        refuse("the private key in " + files.private_key + " does not match the certificate in " +
               files.certificate_chain);
    }
    if (SSL_CTX_use_PrivateKey(to, key.get()) != 1) refuse(not_a_key);
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
    std::string_view left(reinterpret_cast<const char*>(offered), offered_size);
    while (!left.empty()) {
        std::size_t length = static_cast<unsigned char>(left.front());
        if (left.substr(1, length) == http_1_1) {
            *chosen = reinterpret_cast<const unsigned char*>(http_1_1.data());
            *size = static_cast<unsigned char>(http_1_1.size());
            return SSL_TLSEXT_ERR_OK;
        }
        left.remove_prefix(std::min(left.size(), 1 + length));
    }
    // RFC 7301 requires the alert. Continuing would also allow cross-protocol attacks from pages that were loaded from
    // another protocol's server.
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

struct tls_context::stamp {
    struct one {
        dev_t device = 0;
        ino_t inode = 0;
        off_t size = -1;  // -1: the file does not exist
        timespec written = {};
        timespec changed = {};  // also detects a file with the same size and a modification time that was set back

        explicit one(const std::string& path) {
            struct stat s{};
            if (::stat(path.c_str(), &s) != 0) return;
            device = s.st_dev;
            inode = s.st_ino;
            size = s.st_size;
            written = s.st_mtim;
            changed = s.st_ctim;
        }
        bool operator==(const one& other) const noexcept {
            auto same = [](const timespec& a, const timespec& b) {
                return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
            };
            return device == other.device && inode == other.inode && size == other.size &&
                   same(written, other.written) && same(changed, other.changed);
        }
    };

    explicit stamp(const tls_files& files) : certificate(files.certificate_chain), key(files.private_key) {}
    bool operator==(const stamp&) const noexcept = default;

    one certificate;
    one key;
};

tls_context::tls_context(tls_files files)
    : files_(std::move(files)), rules_(nullptr), tried_(std::make_unique<const stamp>(files_)) {
    rules_ = read(files_);
}

tls_context::~tls_context() = default;

rules tls_context::read(const tls_files& files) {
    ERR_clear_error();
    rules made(SSL_CTX_new(TLS_server_method()));
    require(made != nullptr, "keel: cannot create an OpenSSL context");
    set_common_rules(made.get());
    SSL_CTX_set_alpn_select_cb(made.get(), choose_protocol, nullptr);
    use_files(made.get(), files);
    return made;
}

void tls_context::reload() {
    std::lock_guard one_at_a_time(reloading_);
    // Before reading: if a file changes meanwhile, the stamp differs and the files are read again.
    auto now = std::make_unique<const stamp>(files_);
    {
        std::lock_guard lock(mutex_);
        tried_ = std::move(now);
    }
    rules fresh = read(files_);
    std::lock_guard lock(mutex_);
    rules_.swap(fresh);  // connections that started with the old context keep it alive
}

bool tls_context::changed_on_disk() const {
    stamp now(files_);
    std::lock_guard lock(mutex_);
    return !(now == *tried_);
}

bool tls_context::reload_if_changed() {
    if (!changed_on_disk()) return false;
    reload();
    return true;
}

session tls_context::new_session() const {
    ERR_clear_error();
    session made;
    {
        std::lock_guard lock(mutex_);
        made.reset(SSL_new(rules_.get()));
    }
    if (!made) refuse("cannot start a TLS connection");
    SSL_set_accept_state(made.get());
    return made;
}

}  // namespace keel::tls
