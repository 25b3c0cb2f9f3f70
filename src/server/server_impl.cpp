#include "server/server_impl.hpp"

#include "server/transport_opener.hpp"
#include "transport/listen_address.hpp"
#include "transport/sockets.hpp"

#include <stdexcept>

namespace keel::inline KEEL_ABI {

namespace {

// An exception of the callback is logged, so that the rest of the shutdown still happens.
void tell(const server_side::server_core& core, const std::function<void(const connection_end&)>& ended,
          const connection_end& end) {
    if (!ended) return;
    try {
        ended(end);
    } catch (const std::exception& e) {
        core.log(log_level::error, std::string("the callback for a closed connection threw: ") + e.what());
    }
}

connection_end loop_has_ended() {
    connection_end gone;
    gone.cause = "the event loop has ended";
    return gone;
}

}  // namespace

server::impl::impl(implementation about, server_options options)
    : core_(std::make_shared<server_side::server_core>(std::move(about), std::move(options))), hooks_(*core_) {}

server::impl::~impl() {
    background_.end();
    hooks_.finish();  // sessions on the caller's loops may have outlived the server
}

// ---- start ----

void server::impl::begin_serving() {
    begin();
    served_.resume();
}

void server::impl::open_in_background(const endpoint& where) {
    // Opened on the background thread; the caller gets the error, if any.
    background_.run([self = shared_from_this(), where](const std::shared_ptr<async::epoll_loop>& on) {
        self->open(on, where, self->core().options.limits, false);
    });
}

void server::impl::open(const std::shared_ptr<async::epoll_loop>& on, const endpoint& where, limits bounds,
                        bool drain_is_given, std::function<void()> stdio_ended) {
    if (where.where == endpoint::kind::stdio) {
        keel::stdio wire = open_stdio(*on, {.watch_client = where.watch_client});
        // Input from a file: wait for all answers, however long they take (C1).
        if (wire.input_is_file && !drain_is_given) bounds.drain_on_eof = duration::max();
        serve(on, std::move(wire.wire), bounds, [stdio_ended = std::move(stdio_ended)](const connection_end&) {
            if (stdio_ended) stdio_ended();
        });
        return;
    }
    if (where.opener) return open_transport(on, where);
    auto accepted = [weak = weak_from_this(), loop = std::weak_ptr(on), bounds](std::unique_ptr<connection> wire) {
        auto self = weak.lock();
        auto l = loop.lock();
        if (self && l) self->serve(l, std::move(wire), bounds, {});
    };
    listen_options options;
    options.max_connections = core_->options.max_connections;
    std::shared_ptr<listener> l;
    if (where.where == endpoint::kind::unix_socket) {
        l = listen_unix(*on, where.address, std::move(accepted), options);
    } else if (int inherited = transport::inherited_descriptor(where.address); inherited >= 0) {
        l = transport::listen_inherited(*on, inherited, std::move(accepted), options);
    } else {
        l = listen_tcp(*on, tcp_address::parse(where.address), std::move(accepted), options);
    }
    served_.add_listener(std::move(l), on);
}

void server::impl::open_transport(const std::shared_ptr<keel::loop>& on, const endpoint& where) {
    detail::transport_opener::opened made = where.opener->open(shared_from_this(), on);
    served_.set_address(std::move(made.address));
    std::lock_guard lock(mutex_);
    transports_.push_back(std::move(made.transport));
}

std::vector<std::shared_ptr<server_transport>> server::impl::take_transports() {
    std::lock_guard lock(mutex_);
    return std::exchange(transports_, {});
}

// ---- sessions ----

server_side::served_set::session_maker server::impl::session_maker(end_handler ended, std::string principal,
                                                                   bool own_streams) {
    return [this, ended = std::move(ended), principal = std::move(principal), own_streams](std::uint64_t key) {
        auto on_end = [weak = weak_from_this(), core = core_, key, ended](const connection_end& end) {
            tell(*core, ended, end);
            if (auto self = weak.lock()) self->served_.session_ended(key, end);
        };
        return std::make_shared<server_side::server_session>(core_, std::move(on_end), principal, own_streams);
    };
}

void server::impl::serve(std::shared_ptr<keel::loop> on, std::unique_ptr<connection> wire, const limits& bounds,
                         end_handler ended, std::string principal) {
    auto added =
        served_.add_connection(on, core_->options.max_connections, session_maker(ended, std::move(principal), false));
    if (!added.session) {
        connection_end refused;
        refused.cause = std::string("refused: ") + added.refusal;
        core_->log(log_level::warning, "connection " + refused.cause);
        tell(*core_, ended, refused);
        return;
    }
    // std::function requires a copyable callable.
    auto held = std::make_shared<std::unique_ptr<connection>>(std::move(wire));
    auto begin = [s = added.session, on, held, bounds] { s->start(on, std::move(*held), bounds); };
    if (on->here()) {
        begin();
    } else if (!on->post(begin)) {
        connection_end gone = loop_has_ended();
        served_.session_ended(added.key, gone);
        tell(*core_, ended, gone);
    }
}

std::shared_ptr<server_side::server_session> server::impl::attach(std::shared_ptr<keel::loop> on, end_handler ended) {
    return served_.add_session(std::move(on), session_maker(std::move(ended), {}, true));
}

// ---- stop ----

void server::impl::request_stop(duration drain, std::shared_ptr<void> keep) {
    server_side::served_set::stopped all = served_.stop();
    for (auto& each : all.listeners) {
        if (each.loop->here()) each.at->close();
        else each.loop->post([l = std::move(each.at)] { l->close(); });
    }
    for (const auto& [key, each] : all.sessions) {
        auto close = [s = each.session, drain, keep] { s->close(drain, keep); };
        if (each.loop->here()) {
            close();
        } else if (!each.loop->post(close)) {
            // The caller's loop has ended, so its sessions cannot report their end.
            hooks_.handlers_lost();
            served_.session_ended(key, loop_has_ended());
        }
    }
    for (const auto& each : all.transports) each->stop(drain);
    served_.check_idle();
}

void server::impl::request_stop_then(duration drain, std::function<void()> stopped) {
    served_.on_stopped([weak = weak_from_this(), core = core_, stopped = std::move(stopped)] {
        // If it is gone, its destructor has run the hooks.
        if (auto self = weak.lock(); self && self->served_.resting()) self->hooks_.finish();
        try {
            stopped();
        } catch (const std::exception& e) {
            core->log(log_level::error, std::string("the callback of request_stop threw: ") + e.what());
        }
    });
    request_stop(drain);
}

void server::impl::stop(duration drain) {
    request_stop(drain);
    wait();
    background_.end();
    for (const auto& each : take_transports()) each->wait_and_join();
    hooks_.finish();
}

void server::impl::shut_down() {
    bool inside = server_side::in_handler_of(*core_) || background_.here();
    // Sessions on the caller's loops end later, on their loops; until then they keep this object alive.
    request_stop({}, shared_from_this());
    auto transports = take_transports();
    // A handler that destroys its own server cannot wait for itself; its request keeps alive what it uses.
    if (inside) return;
    for (const auto& each : transports) each->wait_and_join();
    if (auto l = background_.loop()) served_.wait_for(l);
    background_.end();
    end_workers();
    if (served_.sessions() == 0) hooks_.finish();
}

std::size_t server::impl::end_workers() {
    auto pool = core_->started_workers();
    return pool ? pool->shut_down(core_->options.limits.cleanup_grace) : 0;
}

// ---- calls that would wait for themselves ----

bool server::impl::in_handler() const {
    // A resumed coroutine has no mark: it runs on its loop like other callbacks.
    return server_side::in_handler_of(*core_) || background_.here() || served_.any_here();
}

void server::impl::refuse_in_handler(const char* what) const {
    if (in_handler()) {
        throw std::logic_error(
            std::string("keel: server::") + what +
            " must not be called in a handler of this server (it would wait for itself); use request_stop");
    }
}

}  // namespace keel
