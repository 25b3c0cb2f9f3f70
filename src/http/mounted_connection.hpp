#pragma once

// A request from the program's own HTTP server (http_server::handle) as a connection: its input is the request as HTTP/1.1 text, its
// output is parsed into calls of mounted_response. So a mounted request takes the same path as all others.

#include "http/response_splitter.hpp"
#include "rpc/message.hpp"

#include <keel/connection.hpp>
#include <keel/http_mount.hpp>
#include <keel/loop.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

/// Writes the request as HTTP/1.1 text with `Connection: close`. Returns nullopt if a part of it contains characters that would change the
/// meaning of the text.
std::optional<std::string> request_text(const mounted_request& r);

/// Responds with a JSON-RPC error without an id.
void refuse_mounted(mounted_response& to, int status, const rpc::failure& why);

class mounted_connection;

/// Shared by the program and the connection, which end at different times.
class mounted_handle final : public mounted_call, public std::enable_shared_from_this<mounted_handle> {
public:
    explicit mounted_handle(std::shared_ptr<loop> on) : loop_(std::move(on)) {}
    ~mounted_handle() override = default;

    void disconnect() override;
    void resume() override;

    // On the loop only.
    void attach(mounted_connection* c) noexcept { connection_ = c; }
    bool disconnected() const noexcept { return disconnected_; }

private:
    template <class F>
    void on_loop(F f);

    const std::shared_ptr<loop> loop_;
    mounted_connection* connection_ = nullptr;  // null before it was adopted and after it was closed
    bool disconnected_ = false;
};

/// Lives on its worker's loop; owned by its http_connection.
class mounted_connection final : public connection {
public:
    mounted_connection(std::shared_ptr<loop> on, std::string request, std::shared_ptr<mounted_response> to,
                       std::shared_ptr<mounted_handle> handle, std::function<void()> closed);
    ~mounted_connection() override;

    void disconnected();
    void resumed();

private:
    void start(listener& l) override;
    written write(std::string_view bytes) override;
    void pause() noexcept override { paused_ = true; }
    void resume() override;
    void end_output() noexcept override;
    void close() noexcept override;
    std::string describe() const override { return "mounted"; }

    /// Calls `f` with this object in a later turn, unless it has been closed.
    template <class F>
    void later(F f);
    void deliver_input();

    const std::shared_ptr<loop> loop_;
    std::string input_;
    std::shared_ptr<mounted_response> to_;  // null: nothing more may be told
    const std::shared_ptr<mounted_handle> handle_;
    std::function<void()> closed_;  // called once
    response_splitter output_;
    listener* listener_ = nullptr;  // null: closed or not started
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    bool paused_ = false;
    bool full_ = false;     // the program has no room
    bool blocked_ = false;  // Keel waits for on_writable
};

}  // namespace keel::http
