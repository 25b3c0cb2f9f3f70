#pragma once

// What a server needs to speak TLS: its certificate, its key and the rules, read from files that may change.

#include "tls/tls_session.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace keel::inline KEEL_ABI::tls {

/// Both in PEM; both may be the same file. The chain begins with the server's own certificate.
struct tls_files {
    std::string certificate_chain = {};
    std::string private_key = {};
};

/// Server side: TLS 1.2 and 1.3, ciphers with forward secrecy and authenticated encryption only, no compression, no
/// renegotiation, no early data. Of application protocols it knows "http/1.1": a client that offers others only is
/// refused with the alert meant for that; one that offers none is welcome.
///
/// Any thread may call anything. What cannot be read throws std::system_error, what cannot be used std::runtime_error,
/// with a sentence that names the file and OpenSSL's reason.
class tls_context {
public:
    explicit tls_context(tls_files);
    tls_context(const tls_context&) = delete;
    tls_context& operator=(const tls_context&) = delete;
    ~tls_context();

    const tls_files& files() const noexcept { return files_; }

    /// Reads the files again. New connections use what was read, open ones go on as they are. If it throws, everything
    /// stays as it was.
    void reload();
    /// True when a file is not the one that was last tried. Two calls of stat: cheap enough for a timer.
    bool changed_on_disk() const;
    /// Reloads if so; true when that was done. Files that were found bad are complained about once, not at every call:
    /// they are tried again when they have changed.
    bool reload_if_changed();

    /// The server's side of a new connection, without its input and output.
    session new_session() const;

private:
    /// What tells one state of the two files from another.
    struct stamp;

    static rules read(const tls_files&);

    const tls_files files_;
    std::mutex reloading_;  // those who reload meet here: the last to read must be the last to swap
    // Loops that begin connections meet here whoever reloads. Never held while a file is read.
    mutable std::mutex mutex_;
    rules rules_;
    std::unique_ptr<const stamp> tried_;
};

}  // namespace keel::tls
