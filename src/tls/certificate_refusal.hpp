#pragma once

// Why a client did not trust a server, in words.

#include <keel/version.hpp>

#include <string>

struct ssl_st;

namespace keel::inline KEEL_ABI::tls {

/// Which host and what is wrong with its certificate: "the certificate of api.example is refused: it expired on …".
/// Empty when it was not refused. What the certificate itself says is made fit for a log.
std::string certificate_refusal(ssl_st*);

}  // namespace keel::tls
