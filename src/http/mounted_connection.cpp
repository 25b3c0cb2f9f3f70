#include "http/mounted_connection.hpp"

#include "http_common/media_type.hpp"
#include "http_common/tokens.hpp"

#include <algorithm>
#include <array>

namespace keel::inline KEEL_ABI::http {

namespace {

/// Headers that describe the connection of the client to the program, not this one.
bool is_about_connection(std::string_view name) {
    constexpr std::array<std::string_view, 9> all = {"connection",        "content-length",   "expect",
                                                     "keep-alive",        "proxy-connection", "te",
                                                     "transfer-encoding", "trailer",          "upgrade"};
    return std::any_of(all.begin(), all.end(), [&](std::string_view each) { return same_ignoring_case(name, each); });
}

bool is_target(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c != 0x7f; });
}

}  // namespace

std::optional<std::string> request_text(const mounted_request& r) {
    if (!is_token(r.method) || !is_target(r.target)) return std::nullopt;
    std::string text = r.method + " " + r.target + " HTTP/1.1\r\nConnection: close\r\n";
    for (const auto& [name, value] : r.headers) {
        if (!is_token(name) || !is_field_text(value)) return std::nullopt;
        if (!is_about_connection(name)) text.append(name).append(": ").append(value).append("\r\n");
    }
    // A POST without a body is a request with an empty body.
    if (!r.body.empty() || r.method == "POST") text += "Content-Length: " + std::to_string(r.body.size()) + "\r\n";
    return text.append("\r\n").append(r.body);
}

void refuse_mounted(mounted_response& to, int status, const rpc::failure& why) {
    std::string text;
    rpc::write_error(text, {}, why);
    http_headers headers = {{"Content-Type", std::string(json_type)}, {"Content-Length", std::to_string(text.size())}};
    if (status == 429 || status == 503) headers.emplace_back("Retry-After", "5");
    to.on_head(status, headers);
    to.on_body(text);
    to.on_end();
}

// ---- the program's side ----

template <class F>
void mounted_handle::on_loop(F f) {
    if (loop_->here()) return f(*this);
    loop_->post([self = shared_from_this(), f] { f(*self); });
}

void mounted_handle::disconnect() {
    on_loop([](mounted_handle& self) {
        self.disconnected_ = true;
        if (self.connection_) self.connection_->disconnected();
    });
}

void mounted_handle::resume() {
    on_loop([](mounted_handle& self) {
        if (self.connection_) self.connection_->resumed();
    });
}

// ---- the connection ----

mounted_connection::mounted_connection(std::shared_ptr<loop> on, std::string request,
                                       std::shared_ptr<mounted_response> to, std::shared_ptr<mounted_handle> handle,
                                       std::function<void()> closed)
    : loop_(std::move(on)), input_(std::move(request)), to_(std::move(to)), handle_(std::move(handle)),
      closed_(std::move(closed)), output_(input_.starts_with("HEAD ")) {
    handle_->attach(this);
}

mounted_connection::~mounted_connection() { close(); }

template <class F>
void mounted_connection::later(F f) {
    loop_->post([this, alive = std::weak_ptr(alive_), f] {
        if (alive.lock() && listener_) f();
    });
}

void mounted_connection::start(listener& l) {
    listener_ = &l;
    later([this] { deliver_input(); });
}

void mounted_connection::deliver_input() {
    if (paused_ || input_.empty()) return;
    std::string all = std::exchange(input_, {});
    listener_->on_input(all);
}

void mounted_connection::resume() {
    if (!std::exchange(paused_, false)) return;
    later([this] { deliver_input(); });
}

connection::written mounted_connection::write(std::string_view bytes) {
    written done;
    auto keep = to_;  // one of its functions may disconnect
    std::string_view left = bytes;
    while (to_ && (!full_ || left.empty())) {  // the end needs no room
        switch (output_.next(left)) {
            case response_splitter::event::more: done.bytes = bytes.size(); return done;
            case response_splitter::event::head: to_->on_head(output_.status(), output_.headers()); break;
            case response_splitter::event::body: full_ = !to_->on_body(output_.piece()); break;
            case response_splitter::event::end: std::exchange(to_, nullptr)->on_end(); break;
            case response_splitter::event::bad: done.failure = "invalid response"; return done;
        }
    }
    done.bytes = to_ ? bytes.size() - left.size() : bytes.size();
    blocked_ = done.bytes < bytes.size();
    return done;
}

// The program has sent the whole request: there is nothing to linger for.
void mounted_connection::end_output() noexcept {
    later([this] { listener_->on_input_end(); });
}

void mounted_connection::resumed() {
    if (!std::exchange(full_, false) || !std::exchange(blocked_, false)) return;
    later([this] { listener_->on_writable(); });
}

void mounted_connection::disconnected() {
    to_ = nullptr;
    later([this] { listener_->on_failure("the client has disconnected"); });
}

void mounted_connection::close() noexcept {
    listener_ = nullptr;
    handle_->attach(nullptr);
    if (auto to = std::exchange(to_, nullptr)) to->on_abort();
    if (auto closed = std::exchange(closed_, nullptr)) closed();
}

}  // namespace keel::http
