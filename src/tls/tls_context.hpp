#pragma once

// The TLS settings of a server: certificate and private key, read from files that may change, and the common rules.

#include "tls/tls_session.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace keel::inline KEEL_ABI::tls {

/// PEM files; both may be the same file. The chain starts with the server's own certificate.
struct tls_files {
    std::string certificate_chain = {};
    std::string private_key = {};
};

/// Server side: TLS 1.2 and 1.3, only ciphers with forward secrecy and authenticated encryption, no compression, no
/// renegotiation, no early data. The only supported application protocol (ALPN) is "http/1.1": a client that offers
/// only others is refused with the no_application_protocol alert; a client that offers none is accepted.
///
/// Thread-safe. Throws std::system_error if a file cannot be read, and std::runtime_error if its content is invalid.
/// The message names the file and OpenSSL's reason.
class tls_context {
public:
    explicit tls_context(tls_files);
    tls_context(const tls_context&) = delete;
    tls_context& operator=(const tls_context&) = delete;
    ~tls_context();

    const tls_files& files() const noexcept { return files_; }

    /// Reads the files again. New connections use the new certificate, open ones keep the old one. Strong exception
    /// guarantee.
    void reload();
    /// True if a file differs from the one that was last read or tried. Two calls of stat: cheap enough for a timer.
    bool changed_on_disk() const;
    /// Reloads if a file has changed. Returns true if it did. Invalid files are reported once, not at every call: they
    /// are tried again after they have changed.
    bool reload_if_changed();

    /// The server's side of a new connection, without input and output.
    session new_session() const;

private:
    /// Identifies a state of the two files.
    struct stamp;

    static rules read(const tls_files&);

    const tls_files files_;
    std::mutex reloading_;  // serializes reloads: the last to read must be the last to swap
    // Protects `rules_` between loops that start connections and a reload. Never held while a file is read.
    mutable std::mutex mutex_;
    rules rules_;
    std::unique_ptr<const stamp> tried_;
};

}  // namespace keel::tls
