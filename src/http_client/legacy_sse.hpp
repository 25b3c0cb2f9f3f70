#pragma once

// The HTTP+SSE transport of 2024-11-05: one event stream for all messages of the server, and a second URL for POST requests.

#include "http_client/transfer.hpp"
#include "http_common/sse_reader.hpp"

#include <keel/async.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

class http_session;
class link_context;
class message_inbox;

/// The path for POST requests, from the data of the event `endpoint` (an absolute or relative URL). nullopt if it has another origin:
/// requests must not go to another server (LHTTP-15).
std::optional<std::string> endpoint_path(std::string_view origin, std::string_view base_path, std::string_view said);

/// The event stream. The connection lasts as long as the stream, which cannot be resumed. Owned by the http_link; used on its loop only.
/// Must not be destroyed in a callback of the pool.
class legacy_sse_stream final : private transfer_user {
public:
    legacy_sse_stream(link_context& context, const http_session& session, message_inbox& inbox);
    legacy_sse_stream(const legacy_sse_stream&) = delete;
    legacy_sse_stream& operator=(const legacy_sse_stream&) = delete;
    ~legacy_sse_stream();

    /// Set when the endpoint URL is known, or the stream has failed.
    event decided;
    bool usable() const noexcept { return !endpoint_.empty() && transfer_ != 0; }
    const std::string& endpoint() const noexcept { return endpoint_; }

private:
    void on_response(const response_view& r) override;
    void on_body(std::string_view bytes) override;
    void on_end() override { lose("the server ended its event stream"); }
    void on_failure(transfer_failure what, std::string_view why) override;

    void take(const http::sse_event& e);
    void decide();
    void lose(std::string_view why);
    void stop() noexcept;

    link_context& context_;
    message_inbox& inbox_;
    transfer_pool::id transfer_ = 0;
    loop::timer timer_ = 0;
    http::sse_reader reader_;
    std::string endpoint_;
    bool stopped_ = false;
    std::shared_ptr<char> alive_ = std::make_shared<char>();  // expires with the stream; posted work checks it
};

}  // namespace keel::http_client
