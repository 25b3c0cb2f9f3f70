#include "http/exchange.hpp"

#include "http/http_connection.hpp"
#include "http/http_server_core.hpp"

namespace keel::inline KEEL_ABI::http {

exchange::exchange(http_connection& c) : loop_(c.worker().loop), server_(c.worker().shared), connection_(&c) {}

template <class F>
void exchange::tell_user(F f) {
    std::weak_ptr<exchange_user> user;
    std::shared_ptr<loop> on;
    std::uint64_t tag = 0;
    {
        std::lock_guard lock(mutex_);
        user = user_;
        on = user_loop_;
        tag = tag_;
    }
    if (!on) return;
    if (on->here()) {
        if (auto known = user.lock()) f(*known, tag);
    } else {
        on->post([user, tag, f] {
            if (auto known = user.lock()) f(*known, tag);
        });
    }
}

void exchange::attach(std::weak_ptr<exchange_user> user, std::shared_ptr<loop> on, std::uint64_t tag) {
    std::shared_ptr<loop> on_user_loop = on;
    {
        std::lock_guard lock(mutex_);
        user_ = std::move(user);
        user_loop_ = std::move(on);
        tag_ = tag;
    }
    // The connection may have closed before attach(). Posted, because the caller of attach() has not finished.
    if (gone()) on_user_loop->post([self = shared_from_this()] { self->tell_gone(); });
}

template <class F>
void exchange::on_connection(F f) {
    if (gone()) return;
    if (loop_->here()) {
        if (connection_) f(*connection_);
        return note_waiting();
    }
    loop_->post([self = shared_from_this(), f = std::move(f)] {
        if (http_connection* c = self->connection_) {
            auto keep = c->shared_from_this();
            f(*c);
            c->worker().flush_dirty();
        }
        self->note_waiting();
    });
}

void exchange::note_waiting() noexcept {
    waiting_.store((connection_ ? connection_->waiting() : 0) + posted_.load(std::memory_order_relaxed),
                   std::memory_order_relaxed);
}

void exchange::note_message(const rpc::message& m, const server_side::server_core& by) {
    if (!server_.options.access_log) return;
    on_connection([names = message_names::of(m, by)](http_connection& c) {
        if (c.access()) c.access()->set_message(names);
    });
}

void exchange::respond(int status, std::string_view content_type, std::string_view body, std::string_view headers) {
    if (loop_->here()) {
        if (http_connection* c = std::exchange(connection_, nullptr)) c->respond(status, content_type, body, headers);
        return;
    }
    auto text = server_.keep(body);
    if (!text) return abort();
    on_connection([self = this, status, type = std::string(content_type), text,
                   lines = std::string(headers)](http_connection& c) {
        self->connection_ = nullptr;
        c.respond(status, type, text->get(), lines);
    });
}

std::string* exchange::begin_json(std::size_t size, std::string_view headers) {
    if (!loop_->here() || !connection_ || !connection_->answering() || connection_->streaming()) return nullptr;
    return &connection_->begin_json(200, headers, size);
}

void exchange::end_json() { std::exchange(connection_, nullptr)->end_json(); }

rpc::input_holder* exchange::large_input() noexcept {
    return loop_->here() && connection_ ? connection_->large_input() : nullptr;
}

void exchange::open_stream(std::string_view headers) {
    on_connection([lines = std::string(headers)](http_connection& c) { c.open_stream(lines); });
}

void exchange::send(std::string_view events) {
    if (loop_->here()) {
        if (!connection_) return;
        connection_->begin_events() += events;
        connection_->end_events();
        return note_waiting();
    }
    auto text = server_.keep(events);
    if (!text) return abort();
    std::size_t size = events.size();
    posted_.fetch_add(size, std::memory_order_relaxed);
    waiting_.fetch_add(size, std::memory_order_relaxed);
    on_connection([self = this, text, size](http_connection& c) {
        self->posted_.fetch_sub(size, std::memory_order_relaxed);
        c.begin_events() += text->get();
        c.end_events();
    });
}

void exchange::end_stream() {
    on_connection([self = this](http_connection& c) {
        self->connection_ = nullptr;
        c.end_stream();
    });
}

void exchange::abort() {
    on_connection([self = this](http_connection& c) {
        self->connection_ = nullptr;
        c.close();
    });
}

void exchange::on_gone() {
    connection_ = nullptr;
    gone_.store(true, std::memory_order_release);
    waiting_.store(0, std::memory_order_relaxed);
    tell_gone();
}

void exchange::tell_gone() {
    tell_user([](exchange_user& u, std::uint64_t tag) { u.on_exchange_gone(tag); });
}

void exchange::on_drained() {
    note_waiting();
    tell_user([](exchange_user& u, std::uint64_t tag) { u.on_exchange_drained(tag); });
}

void exchange::on_quiet() {
    tell_user([](exchange_user& u, std::uint64_t tag) { u.on_exchange_quiet(tag); });
}

}  // namespace keel::http
