// endpoint::http.

#include "http/http_server_core.hpp"
#include "server/transport_opener.hpp"

#include <keel/http_server.hpp>

namespace keel::inline KEEL_ABI {

namespace {

class http_opener final : public detail::transport_opener {
public:
    http_opener(std::string address, http_options options)
        : address_(std::move(address)), options_(std::move(options)) {}

    opened open(const std::shared_ptr<server_access::impl>& s, const std::shared_ptr<loop>& on) const override {
        auto core = std::make_shared<http::http_server_core>(s, options_);
        core->open(address_, on, core->wanted_workers());
        return {core, core->url()};
    }

private:
    std::string address_;
    http_options options_;
};

}  // namespace

endpoint endpoint::http(std::string host_and_port) { return http(std::move(host_and_port), {}); }

endpoint endpoint::http(std::string host_and_port, http_options options) {
    endpoint made{.where = kind::http, .address = host_and_port};
    made.opener = std::make_shared<http_opener>(std::move(host_and_port), std::move(options));
    return made;
}

}  // namespace keel
