#pragma once

// The stream on which a server of the older revisions speaks by itself.

#include "http/sse_reader.hpp"
#include "http_client/http_link_outcome.hpp"
#include "http_client/transfer.hpp"

#include <keel/async.hpp>
#include <keel/task.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

class http_link;

/// Opened when a session begins and taken up again whenever it ends, for as long as the session lasts. A server that has no
/// such stream says so, and that is the end of it.
class link_listener final : public transfer_user {
public:
    explicit link_listener(http_link& home) noexcept : home_(home) {}
    ~link_listener() = default;

    /// Anew, for the session there is.
    void open();
    void close() noexcept;
    /// Waits until the server has answered to the first request for the stream, whatever it says.
    task<void> answered();
    bool is_open() const noexcept { return transfer_ != 0 || pause_ != 0; }

private:
    void on_response(const response_view& r) override;
    void on_body(std::string_view bytes) override;
    void on_end() override;
    void on_failure(transfer_failure what, std::string_view why) override;

    void start();
    void again();
    void tell_answered();

    http_link& home_;
    transfer_pool::id transfer_ = 0;
    loop::timer pause_ = 0;
    std::optional<http::sse_reader> reader_;
    reconnect_backoff pace_;
    bool worked_ = false;  // in this session
    bool reading_ = false;
    bool goes_on_ = false;   // where the stream before stopped
    bool busy_ = false;      // in the reader
    std::uint64_t run_ = 0;  // how often it was opened or closed
    time_point since_{};
    std::shared_ptr<event> answered_ = std::make_shared<event>();  // shared with those who wait for it
};

}  // namespace keel::http_client
