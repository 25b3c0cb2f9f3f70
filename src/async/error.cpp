#include <keel/error.hpp>

namespace keel::inline KEEL_ABI {

std::string_view name_of(error_kind kind) noexcept {
    switch (kind) {
        case error_kind::rejected: return "rejected";
        case error_kind::bad_message: return "bad message";
        case error_kind::closed: return "connection closed";
        case error_kind::timed_out: return "timed out";
        case error_kind::cancelled: return "cancelled";
        case error_kind::unauthorized: return "unauthorized";
        case error_kind::unavailable: return "unavailable";
        case error_kind::stream_lost: return "stream lost";
        case error_kind::session_lost: return "session lost";
    }
    return "unknown";
}

// Out of line, here and in the other exceptions, so that the library alone has their virtual tables: those of a file that is
// compiled with -fno-rtti carry no type information.
error::~error() = default;

}  // namespace keel
