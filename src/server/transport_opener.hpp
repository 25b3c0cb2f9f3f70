#pragma once

// How a server opens an endpoint of a transport that src/server does not know (endpoint::http).

#include "server/server_impl.hpp"

#include <memory>
#include <string>

namespace keel::inline KEEL_ABI::detail {

class transport_opener {
public:
    transport_opener() = default;
    transport_opener(const transport_opener&) = delete;
    transport_opener& operator=(const transport_opener&) = delete;
    virtual ~transport_opener() = default;

    struct opened {
        std::shared_ptr<server_transport> transport;
        std::string address;
    };
    /// Called on the loop. Throws if the options or the address are invalid, or the address is in use.
    virtual opened open(const std::shared_ptr<server_access::impl>& s, const std::shared_ptr<loop>& on) const = 0;
};

}  // namespace keel::detail
