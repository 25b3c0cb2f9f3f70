#include "server/server_session.hpp"

#include "rpc/connection_io.hpp"
#include "server/request_log_fields.hpp"
#include "server/version_checks.hpp"

namespace keel::inline KEEL_ABI::server_side {

namespace {
constexpr unsigned reports_per_second = 20;  // limit for messages that a peer can cause (J6)
}  // namespace

server_session::server_session(std::shared_ptr<server_core> server, std::function<void(const connection_end&)> ended,
                               std::string principal, bool own_streams)
    : server_(std::move(server)), ended_(std::move(ended)),
      principal_(std::make_shared<const std::string>(std::move(principal))), states_(server_->states()),
      subscriber_(*server_, !own_streams) {}

void server_session::start(std::shared_ptr<loop> on, std::unique_ptr<connection> wire, const limits& bounds) {
    peer_ =
        rpc::make_connection_peer(std::move(on), std::move(wire), rpc::role::server, bounds, server_->budget, *this);
    peer_->core().watch(*this);
    started_ = peer_->loop().now();
    subscriber_.start(peer_);
    peer_->start();
    if (close_due_) close({});  // close() was called before the session reached its loop
}

void server_session::start(std::shared_ptr<loop> on, rpc::message_sink& sink, const limits& bounds) {
    own_streams_ = true;
    peer_ = std::make_shared<rpc::peer>(std::move(on), sink, rpc::role::server, bounds, server_->budget, *this);
    peer_->core().watch(*this);
    started_ = peer_->loop().now();
    subscriber_.start(peer_);
    if (close_due_) close({});
}

void server_session::close(duration drain, std::shared_ptr<void> keep) {
    if (peer_ && peer_->closed()) return;
    if (keep) keep_ = std::move(keep);
    close_due_ = !peer_;
    if (auto p = peer_) {
        subscriber_.end_gracefully();
        p->close(drain);
    }
}

void server_session::on_request(rpc::peer&, rpc::serial id, std::string_view method, const json::value* given) {
    const json::value& params = given ? *given : no_params;
    if (const json::value* meta = modern_meta(params)) on_modern(id, method, params, *meta);
    else on_legacy(id, method, params);
}

void server_session::on_notification(rpc::peer&, std::string_view method, const json::value* given) {
    if (method == "notifications/initialized") {
        if (era_ == era::legacy) client_->confirmed = true;
        return;
    }
    if (const auto* f = server_->find_notification(method)) {
        handler_mark mark(*server_);
        (*f)(*principal_, given ? *given : no_params);
    }
}

// ---- the log ----

void server_session::report(const log_record& record) {
    if (!server_->logs(record.level)) return;
    time_point now = peer_->loop().now();
    if (now - reports_since_ >= std::chrono::seconds(1)) {
        if (reports_ > reports_per_second) {
            server_->log(log_level::warning,
                         std::to_string(reports_ - reports_per_second) + " further messages suppressed");
        }
        reports_since_ = now;
        reports_ = 0;
    }
    if (++reports_ <= reports_per_second) server_->log(record);
}

void server_session::report(log_record record, rpc::serial about) {
    if (!server_->logs(record.level)) return;
    auto facts = peer_->core().facts(about);
    if (!facts) return report(record);
    request_log_fields fields(server_->stats, *facts, peer_->loop().now());
    fields.add_to(record);
    record.principal = *principal_;
    report(record);
}

void server_session::on_cancelled(rpc::serial request, std::string_view reason) {
    if (!server_->logs(log_level::info)) return;
    std::string text = "request cancelled by the client";
    if (!reason.empty()) text.append(": ").append(reason);
    report({.level = log_level::info, .message = text, .reason = reason}, request);
}

void server_session::on_handler_failed(rpc::serial request, std::string_view what) {
    if (!server_->logs(log_level::error)) return;
    const std::string text = "handler failed: " + std::string(what);
    report({.level = log_level::error, .message = text}, request);
}

void server_session::on_closed(std::string_view cause, std::size_t abandoned) {
    subscriber_.end();
    keep_alive_.end();
    take_totals();
    server_->totals.abandoned += abandoned;
    // Without a session, each HTTP connection has an object of this class; its lifetime means nothing.
    if (!own_streams_ || (era_ == era::legacy && !stateless_)) {
        server_->totals.sessions.add(peer_->loop().now() - started_);
    }
    if (!cause.empty()) server_->log(log_level::info, "connection closed: " + std::string(cause));
    if (abandoned > 0) {
        server_->log(log_level::error, std::to_string(abandoned) + " handlers did not stop in time and were abandoned");
    }
    connection_end end;
    end.cause = cause;
    end.abandoned = abandoned;
    auto kept = std::exchange(keep_, nullptr);
    if (auto ended = std::exchange(ended_, nullptr)) ended(end);
}

std::uint16_t server_session::kind_of(std::string_view name) {
    method which = protocol::find_method(name);
    if (which != method::other) return static_cast<std::uint16_t>(which);
    const auto* own = methods_.of(server_->methods).find(name);
    return own ? (*own)->stats_slot : method_stats::unknown;
}

void server_session::on_settled(const rpc::request_facts& request, rpc::request_outcome how) noexcept {
    settled_at_ = peer_->loop().now();
    server_->stats.record(request.kind, request.label, settled_at_ - request.since, how);
    if (!server_->logs(log_level::debug)) return;
    log_record record{.level = log_level::debug, .message = "request ended: ok"};
    switch (how) {
        case rpc::request_outcome::ok: break;
        case rpc::request_outcome::tool_error: record.message = "request ended: tool error"; break;
        case rpc::request_outcome::error: record.message = "request ended: error"; break;
        case rpc::request_outcome::cancelled: record.message = "request ended: cancelled"; break;
    }
    try {
        request_log_fields fields(server_->stats, request, settled_at_);
        fields.add_to(record);
        record.principal = *principal_;
        server_->log(record);
    } catch (const std::bad_alloc&) {  // there is no memory for the message
    }
}

void server_session::take_totals() noexcept {
    const rpc::counters& now = peer_->core().count();
    auto take = [](std::atomic<std::uint64_t>& total, std::uint64_t count, std::uint64_t& told) {
        if (count != told) total.fetch_add(count - std::exchange(told, count), std::memory_order_relaxed);
    };
    if (now.requests != told_.requests) {
        std::size_t of = protocol::revision_count;
        if (era_ == era::legacy) of = static_cast<std::size_t>(client_->revision);
        else if (era_ == era::modern) of = static_cast<std::size_t>(protocol::latest);
        server_->totals.requests_of[of].fetch_add(now.requests - told_.requests, std::memory_order_relaxed);
    }
    take(server_->totals.requests, now.requests, told_.requests);
    take(server_->totals.dropped_late, now.dropped_late, told_.dropped_late);
    take(server_->totals.rejected_input, now.rejected_input, told_.rejected_input);
}

void server_session::reject(rpc::serial id, int code, std::string message) {
    peer_->finish(id, rpc::failure{code, std::move(message), {}});
}

void server_session::unknown_method(rpc::serial id, std::string_view method) {
    reject(id, error_code::method_not_found, "method not found: " + rpc::printable(method));
}

}  // namespace keel::server_side
