#include "server/server_session.hpp"

#include "rpc/connection_io.hpp"
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
    subscriber_.start(peer_);
    peer_->start();
    if (close_due_) close({});  // close() was called before the session reached its loop
}

void server_session::start(std::shared_ptr<loop> on, rpc::message_sink& sink, const limits& bounds) {
    own_streams_ = true;
    peer_ = std::make_shared<rpc::peer>(std::move(on), sink, rpc::role::server, bounds, server_->budget, *this);
    peer_->core().watch(*this);
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

void server_session::on_report(std::string_view text) {
    time_point now = peer_->loop().now();
    if (now - reports_since_ >= std::chrono::seconds(1)) {
        if (reports_ > reports_per_second) {
            server_->log(log_level::warning,
                         std::to_string(reports_ - reports_per_second) + " further messages suppressed");
        }
        reports_since_ = now;
        reports_ = 0;
    }
    if (++reports_ <= reports_per_second) server_->log(log_level::warning, text);
}

void server_session::on_closed(std::string_view cause, std::size_t abandoned) {
    subscriber_.end();
    keep_alive_.end();
    take_totals();
    server_->totals.abandoned += abandoned;
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

void server_session::on_settled(std::uint16_t kind, time_point since, bool with_error) noexcept {
    settled_at_ = peer_->loop().now();
    server_->stats.record(kind, settled_at_ - since, with_error);
}

void server_session::take_totals() noexcept {
    const rpc::counters& now = peer_->core().count();
    auto take = [](std::atomic<std::uint64_t>& total, std::uint64_t count, std::uint64_t& told) {
        if (count != told) total.fetch_add(count - std::exchange(told, count), std::memory_order_relaxed);
    };
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
