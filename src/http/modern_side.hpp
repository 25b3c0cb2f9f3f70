#pragma once

// Requests of revision 2026-07-28 on one HTTP connection, and, for servers without sessions, those of older ones.

#include "http/answer_watcher.hpp"
#include "rpc/outlet.hpp"
#include "server/session.hpp"

#include <keel/http_server.hpp>

#include <memory>
#include <string>

namespace keel::inline KEEL_ABI::http {

class http_connection;
class lane;

/// A peer of the connection's own. HTTP has one request at a time on a connection, so the peer's connection is this one: when it
/// breaks, what runs is cancelled, as on any other transport. Lives until its session has ended.
class modern_side final : public rpc::outlet, public answer_watcher, public std::enable_shared_from_this<modern_side> {
public:
    /// Null while the server is stopping.
    static std::shared_ptr<modern_side> create(http_connection& c);
    ~modern_side() = default;
    explicit modern_side(http_connection& c);

    /// The answer goes to the connection, in this form.
    void receive_request(const rpc::message& message, http_options::answer_form form);
    /// HTTP has answered it already (202).
    void receive_notification(const rpc::message& message);
    server_side::session& session() noexcept { return *session_; }
    bool ended() const noexcept { return !session_; }
    void connection_closed();

    // answer_watcher
    void on_gone() override;
    void on_drained() override;
    void on_quiet() override;

private:
    // rpc::outlet
    std::string& begin(const rpc::frame& about) override;
    std::uint64_t end(const rpc::frame& about) override;
    std::uint64_t first_to_withdraw() const noexcept override { return next_number_; }
    std::size_t withdraw(rpc::serial) override { return 0; }
    rpc::serial owner_of_answer(const rpc::request_id&) const noexcept override { return 0; }
    std::size_t waiting(rpc::stream_id) const noexcept override;
    void unanswered(rpc::stream_id on, const rpc::request_id& id) override;
    bool may_ask(rpc::stream_id) const noexcept override { return false; }  // neither era may, here
    void release(rpc::stream_id, duration) override {}
    void flush() override;

    bool speaks(const rpc::frame& about) const noexcept;
    void open_stream();

    http_connection* connection_;  // null when it has gone
    keel::http::lane& lane_;
    std::shared_ptr<server_side::session> session_;
    std::string unheard_;             // takes what nobody will hear
    std::string* writing_ = nullptr;  // between begin and end
    std::uint64_t next_number_ = 1;
    rpc::stream_id stream_ = 0;  // of the request at hand; each has its own
    http_options::answer_form form_ = http_options::answer_form::as_needed;
};

}  // namespace keel::http
