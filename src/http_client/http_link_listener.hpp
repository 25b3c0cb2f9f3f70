#pragma once

// The GET event stream for the server's own requests and notifications (revisions before 2026-07-28).

#include "http_client/http_link_outcome.hpp"
#include "http_client/transfer.hpp"
#include "http_common/sse_reader.hpp"

#include <keel/async.hpp>
#include <keel/task.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

class http_session;
class link_context;
class message_inbox;

/// Opened when a session begins, and resumed whenever it ends, as long as the session lasts. If the server rejects the first request,
/// it has no such stream. Owned by the http_link; used on its loop only.
class link_listener final : private transfer_user {
public:
    /// `on_session_lost` is called when the response says that the session has expired.
    link_listener(link_context& context, const http_session& session, message_inbox& inbox,
                  std::function<void()> on_session_lost) noexcept;
    link_listener(const link_listener&) = delete;
    link_listener& operator=(const link_listener&) = delete;
    ~link_listener() = default;

    /// Opens the stream for the current session.
    void open();
    void close() noexcept;
    /// Waits until the server has responded to the first request for the stream.
    task<void> answered();
    bool is_open() const noexcept { return transfer_ != 0 || pause_ != 0; }
    /// The server has no such stream in this session.
    bool refused() const noexcept { return refused_; }

private:
    void on_response(const response_view& r) override;
    void on_body(std::string_view bytes) override;
    void on_end() override;
    void on_failure(transfer_failure what, std::string_view why) override;

    void start();
    void again();
    void tell_answered();
    void give_up(const std::string& why);

    link_context& context_;
    const http_session& session_;
    message_inbox& inbox_;
    const std::function<void()> on_session_lost_;
    transfer_pool::id transfer_ = 0;
    loop::timer pause_ = 0;
    std::optional<http::sse_reader> reader_;
    reconnect_backoff pace_;
    bool worked_ = false;  // in this session
    bool refused_ = false;
    bool reading_ = false;
    bool goes_on_ = false;   // resumes where the previous stream stopped
    bool busy_ = false;      // the reader is on the stack
    std::uint64_t run_ = 0;  // counts open and close, to ignore events of an earlier stream
    time_point since_{};
    std::shared_ptr<event> answered_ = std::make_shared<event>();  // shared with waiting tasks
};

}  // namespace keel::http_client
