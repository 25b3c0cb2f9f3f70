// The connector for keel::url.

#include "client/link.hpp"
#include "http_client/http_link.hpp"
#include "http_client/http_link_headers.hpp"
#include "protocol/url_parts.hpp"

#include <keel/server_target.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace keel::inline KEEL_ABI::http_client {

namespace {

class url_connector final : public client_side::connector {
public:
    explicit url_connector(keel::url where) : where_(std::move(where)) {
        // For messages: without user, password and query, which may contain secrets.
        described_ = protocol::without_user_info(where_.address);
        described_.resize(std::min(described_.size(), described_.find_first_of("?#")));
    }

    // Does not connect yet: each request opens a connection if necessary.
    task<std::unique_ptr<client_side::link>> connect(std::shared_ptr<loop> on,
                                                     client_side::link_settings how) override {
        pool_options options;
        options.url = where_.address;
        options.ca_file = where_.ca_file;
        options.proxy = where_.proxy;
        options.max_connections = std::max<std::size_t>(where_.max_connections, 1);
        options.max_redirects = where_.max_redirects;
        options.write_stall = how.limits.write_stall;
        options.report = how.report;
        auto pool = transfer_pool::create(on, std::move(options));
        http_link_options terms;
        terms.headers = where_.headers;
        add_default_header(terms.headers, "User-Agent", user_agent(how.client_name, how.client_version));
        terms.allow_old_transport = where_.allow_old_transport;
        terms.max_body = where_.max_body;
        co_return std::make_unique<http_link>(std::move(on), std::move(pool), std::move(terms));
    }

    bool is_http() const noexcept override { return true; }
    std::string describe() const override { return described_; }
    /// The origin. For an invalid URL, its text; connect() reports the error.
    std::string identity() const override {
        try {
            return protocol::url_parts::parse(where_.address).origin();
        } catch (const std::invalid_argument&) {
            return described_;
        }
    }

private:
    const keel::url where_;
    std::string described_;
};

}  // namespace

}  // namespace keel::http_client

namespace keel::inline KEEL_ABI {

server_target::server_target(url where) : connector_(std::make_shared<http_client::url_connector>(std::move(where))) {}

}  // namespace keel
