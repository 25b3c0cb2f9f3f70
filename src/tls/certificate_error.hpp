#pragma once

// Error messages for server certificates that a client rejected.

#include <keel/version.hpp>

#include <string>

struct ssl_st;

namespace keel::inline KEEL_ABI::tls {

/// Names the host and the reason: "the certificate of api.example was rejected: it expired on …". Empty if it was not
/// rejected. Text from the certificate is escaped.
std::string certificate_error(ssl_st*);

}  // namespace keel::tls
