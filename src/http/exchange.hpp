#pragma once

// The answer to one HTTP request, given by a session that may live on another loop than the connection.

#include "http/answer_observer.hpp"

#include <keel/loop.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

class http_connection;

/// Who gives the answer. Told on its own loop.
class exchange_user {
public:
    virtual void on_exchange_gone(std::uint64_t tag) = 0;
    virtual void on_exchange_drained() = 0;
    virtual void on_exchange_quiet(std::uint64_t tag) = 0;

protected:
    ~exchange_user() = default;
};

/// Shared by the connection and the session, which end at different times. What is said after either has gone vanishes.
/// Everything but `attach` from any loop: what comes from another one is posted, in order.
class exchange final : public answer_observer, public std::enable_shared_from_this<exchange> {
public:
    /// On the connection's loop, for the request it has just read.
    explicit exchange(http_connection& c);
    ~exchange() = default;

    /// Who is told, and under which tag. On the user's loop.
    void attach(std::weak_ptr<exchange_user> user, std::shared_ptr<loop> on, std::uint64_t tag);

    void respond(int status, std::string_view content_type, std::string_view body, std::string_view headers = {});
    void open_stream(std::string_view headers);
    void send(std::string_view events);
    void end_stream();

    bool gone() const noexcept { return gone_.load(std::memory_order_acquire); }
    /// Bytes that the client has not taken, as far as is known here.
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
    http_connection* connection_;  // null when the answer is complete, or nobody waits for it
    std::atomic<bool> gone_{false};
    std::atomic<std::size_t> waiting_{0};
    std::atomic<std::size_t> posted_{0};  // bytes on their way to the connection's loop

    std::mutex mutex_;  // the two loops meet here
    std::weak_ptr<exchange_user> user_;
    std::shared_ptr<loop> user_loop_;
    std::uint64_t tag_ = 0;
};

}  // namespace keel::http
