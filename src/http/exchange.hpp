#pragma once

// The answer to one HTTP request, from a session that may live on another loop than the connection.

#include "http/answer_watcher.hpp"
#include "rpc/message.hpp"
#include "rpc/peer.hpp"

#include <keel/loop.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::server_side {
class server_core;
}

namespace keel::inline KEEL_ABI::http {

class http_connection;
class http_server_core;

/// The session that answers. Called on its own loop.
class exchange_user {
public:
    virtual void on_exchange_gone(std::uint64_t tag) = 0;
    virtual void on_exchange_drained(std::uint64_t tag) = 0;
    virtual void on_exchange_quiet(std::uint64_t tag) = 0;

protected:
    ~exchange_user() = default;
};

/// Shared by the connection and the session, which end at different times. Output after the end of either is dropped.
/// All functions except `attach` may be called on any loop of the server; calls from another loop than the connection's are posted in
/// order. If posted text exceeds the memory budget, the connection is closed instead.
class exchange final : public answer_watcher, public std::enable_shared_from_this<exchange> {
public:
    /// Must be called on the connection's loop, for its current request.
    explicit exchange(http_connection& c);
    ~exchange() = default;

    /// Sets the user to notify, and its tag. Must be called on the user's loop.
    void attach(std::weak_ptr<exchange_user> user, std::shared_ptr<loop> on, std::uint64_t tag);

    /// For the access log: `by` is the server of the session. Call it before the answer.
    void note_message(const rpc::message& m, const server_side::server_core& by);
    void respond(int status, std::string_view content_type, std::string_view body, std::string_view headers = {});
    /// For a large response with a JSON body of about `size` bytes: the buffer of the connection, to which the caller appends the body
    /// before it calls end_json. Null if the connection is on another loop or is gone: then call respond.
    std::string* begin_json(std::size_t size, std::string_view headers);
    void end_json();
    /// See http_connection::large_input. Null on another loop.
    rpc::input_holder* large_input() noexcept;
    void open_stream(std::string_view headers);
    void send(std::string_view events);
    void end_stream();
    /// Closes the connection and drops its unwritten output.
    void abort();

    bool gone() const noexcept { return gone_.load(std::memory_order_acquire); }
    /// Bytes that the client has not read, as far as is known.
    std::size_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

private:
    template <class F>
    void on_connection(F f);
    template <class F>
    void tell_user(F f);
    void note_waiting() noexcept;
    void tell_gone();

    void on_gone() override;
    void on_drained() override;
    void on_quiet() override;

    const std::shared_ptr<loop> loop_;
    http_server_core& server_;     // outlives every caller of a function that posts
    http_connection* connection_;  // null if the answer is complete or the client has disconnected
    std::atomic<bool> gone_{false};
    std::atomic<std::size_t> waiting_{0};
    std::atomic<std::size_t> posted_{0};  // bytes posted to the connection's loop

    std::mutex mutex_;  // guards the members below
    std::weak_ptr<exchange_user> user_;
    std::shared_ptr<loop> user_loop_;
    std::uint64_t tag_ = 0;
};

}  // namespace keel::http
