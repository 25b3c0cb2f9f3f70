#pragma once

// The transport of 2024-11-05: one event stream for all that the server says, and a second address for what we say.

#include "http/sse_reader.hpp"
#include "http_client/transfer.hpp"

#include <keel/async.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

class http_link;

/// The path to post to, from the data of the event `endpoint`: an absolute or relative reference. Nothing when it leads to
/// another origin: whatever is sent there would be sent to somebody else (LHTTP-15).
std::optional<std::string> endpoint_path(std::string_view origin, std::string_view base_path, std::string_view said);

/// The stream. While it is there, the connection is; there is no way to take it up again. Not destroyed from inside a call of
/// the pool.
class legacy_sse_stream final : public transfer_user {
public:
    legacy_sse_stream(http_link& home, duration patience);
    legacy_sse_stream(const legacy_sse_stream&) = delete;
    legacy_sse_stream& operator=(const legacy_sse_stream&) = delete;
    ~legacy_sse_stream();

    /// The server has named its address, or it will not.
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

    http_link& home_;
    transfer_pool::id transfer_ = 0;
    loop::timer timer_ = 0;
    http::sse_reader reader_;
    std::string endpoint_;
    bool stopped_ = false;
};

}  // namespace keel::http_client
