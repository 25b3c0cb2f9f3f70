#pragma once

// The server's side of one client: interprets its messages in the negotiated protocol revision.

#include "rpc/keep_alive.hpp"
#include "rpc/peer.hpp"
#include "server/call_state.hpp"
#include "server/invocation.hpp"
#include "server/server_core.hpp"
#include "server/subscriber.hpp"

#include <keel/server.hpp>

#include <array>
#include <functional>
#include <memory>
#include <string>

namespace keel::inline KEEL_ABI::server_side {

class worker_call;

/// The text of a list result. `entries` is a view of the registry's snapshot, to avoid a copy.
struct list_text {
    std::string before;
    std::string_view entries;
    std::string after;

    void clear() noexcept {
        before.clear();
        entries = {};
        after.clear();
    }
};

/// Lives on its loop. The server owns it until `ended` is called, which is its last call.
class server_session final : public rpc::peer_user,
                             private rpc::request_watch,
                             private detail::input_owner,
                             public std::enable_shared_from_this<server_session> {
public:
    /// `own_streams`: each request has its own stream to the client (HTTP), so its end needs no notification.
    server_session(std::shared_ptr<server_core> server, std::function<void(const connection_end&)> ended,
                   std::string principal = {}, bool own_streams = false);

    void start(std::shared_ptr<loop> on, std::unique_ptr<connection> wire, const limits& bounds);

    // Without a connection, for HTTP, which has its own framing. `sink` must outlive the session.
    void start(std::shared_ptr<loop> on, rpc::message_sink& sink, const limits& bounds);
    rpc::peer& peer() noexcept { return *peer_; }
    /// Sets the principal of all messages received from now on.
    void set_principal(std::shared_ptr<const std::string> who) noexcept { principal_ = std::move(who); }
    /// The client has completed the handshake (up to 2025-11-25).
    bool initialized() const noexcept { return era_ == era::legacy; }
    protocol::revision negotiated() const noexcept { return client_->revision; }
    /// Serves requests of a revision up to 2025-11-25 without a handshake. The client's capabilities are unknown, so the server sends
    /// it no requests.
    void be_stateless(protocol::revision r);
    bool is_stateless() const noexcept { return stateless_; }
    /// `keep` is kept alive until the session has ended.
    void close(duration drain, std::shared_ptr<void> keep = {});
    bool closed() const noexcept { return !peer_ || peer_->closed(); }
    /// Notifies subscribed clients that an entry was added or removed.
    void list_changed(list_kind which) { subscriber_.list_changed(which); }

private:
    using revision = protocol::revision;
    using method = protocol::method;
    enum class era : unsigned char { unknown, legacy, modern };

    // rpc::peer_user
    void on_request(rpc::peer&, rpc::serial id, std::string_view method, const json::value* params) override;
    void on_notification(rpc::peer&, std::string_view method, const json::value* params) override;
    void on_input_end() override { subscriber_.end_gracefully(); }  // otherwise a drain would wait for open listens
    void on_turn_end() noexcept override { take_totals(); }         // once per turn, not per message
    void on_report(std::string_view text) override { report({.level = log_level::warning, .message = text}); }
    void on_cancelled(rpc::serial request, std::string_view reason) override;
    void on_handler_failed(rpc::serial request, std::string_view what) override;
    void on_closed(std::string_view cause, std::size_t abandoned) override;

    // rpc::request_watch
    std::uint16_t kind_of(std::string_view method) override;
    void on_settled(const rpc::request_facts& request, rpc::request_outcome how) noexcept override;

    // detail::input_owner: of a quick handler
    void release_input() override;

    // server_session_legacy.cpp: revisions up to 2025-11-25
    void on_legacy(rpc::serial id, std::string_view method, const json::value& params);
    void initialize(rpc::serial id, const json::value& params);
    void set_log_level(const incoming& in);
    // server_session_modern.cpp: revision 2026-07-28
    void on_modern(rpc::serial id, std::string_view method, const json::value& params, const json::value& meta);
    void discover(const incoming& in, std::string& out);

    /// Who has the answer to a request after `dispatch`.
    struct dispatched {
        enum class kind : unsigned char { session, coroutine, worker };
        kind by = kind::session;
        rpc::text_pieces text;                     // session: the answer, in buffers that the next request reuses
        std::string* body = nullptr;               // session: the buffer of the second piece, if it may be large
        task<std::string> work;                    // coroutine: not started
        std::shared_ptr<detail::call_state> call;  // coroutine: of the handler; null for subscriptions/listen
        std::shared_ptr<worker_call> blocking;     // worker: not submitted
        // Session: the entry of a quick handler that ran, and the time at which it began.
        std::shared_ptr<const void> offer;
        time_point begin{};
        bool tool_error = false;  // session: the answer reports a failure of a tool
    };

    // server_session_serve.cpp: all revisions
    void serve(const incoming& in);
    void start(const incoming& in, dispatched next);
    /// The innermost step of every request. `call` is its state if it came through middleware, otherwise null. Throws if the request
    /// is invalid, or what a quick handler throws.
    void dispatch(const incoming& in, std::shared_ptr<detail::call_state> call, dispatched& out);
    /// Warns if a quick handler has blocked the loop until now.
    void check_quick(const incoming& in, const dispatched& done, time_point now) const noexcept;
    void must_offer(const incoming& in);
    /// Answers methods that need no handler. Returns false for other methods.
    bool answer_at_once(const incoming& in, dispatched& out);
    void answer_with(std::string_view text, dispatched& out) noexcept;
    invocation find(const incoming& in);
    std::shared_ptr<detail::call_state> make_call(const incoming& in);
    void use_spare_buffer();
    void free_large_reply();
    void run_quick(const incoming& in, const invocation& found, std::shared_ptr<detail::call_state> call, bool in_chain,
                   dispatched& out);
    void enter_chain(const incoming& in, dispatched& out);
    /// The end of a middleware chain. `call` must outlive the task.
    static task<std::string> dispatch_in_chain(std::weak_ptr<server_session> weak,
                                               std::shared_ptr<detail::call_state> state, request_call& call);

    // server_session_lists.cpp
    void list(const incoming& in, list_text& out);

    void reject(rpc::serial id, int code, std::string message);
    void unknown_method(rpc::serial id, std::string_view method);
    void take_totals() noexcept;
    /// Logs a message that the peer can cause, at most 20 per second (J6).
    void report(const log_record& record);
    /// The same about a request, with its id, method, tool and duration.
    void report(log_record record, rpc::serial about);

    std::shared_ptr<server_core> server_;
    std::function<void(const connection_end&)> ended_;
    std::shared_ptr<rpc::peer> peer_;
    time_point started_{};
    std::shared_ptr<void> keep_;
    std::shared_ptr<const std::string> principal_;
    const std::shared_ptr<const started_states> states_;

    era era_ = era::unknown;
    bool own_streams_ = false;
    bool stateless_ = false;
    bool close_due_ = false;                        // close() was called before start()
    std::shared_ptr<detail::client_facts> client_;  // up to 2025-11-25: for the whole session

    view<tool> tools_;
    view<resource_offer> resources_;
    view<template_offer> templates_;
    view<prompt_offer> prompts_;
    view<method_offer> methods_;
    subscriber subscriber_;
    rpc::keep_alive keep_alive_;

    detail::reply reply_;       // reused from call to call
    bool large_reply_ = false;  // the last one was large
    result_text around_;
    std::string text_;
    list_text list_;
    std::array<std::string_view, 3> pieces_;  // of the answer, in the ones above
    time_point settled_at_{};  // when a request was last answered or its coroutine last returned to the loop
    rpc::counters told_;       // already added to the server's totals
    time_point reports_since_{};
    unsigned reports_ = 0;
};

}  // namespace keel::server_side
