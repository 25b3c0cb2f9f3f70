#include "http/http_connection.hpp"

#include "async/reactor.hpp"
#include "http/http_server_core.hpp"
#include "http/refusal_log.hpp"
#include "http/router.hpp"
#include "http/stateless_handler.hpp"

#include <cxxabi.h>

namespace keel::inline KEEL_ABI::http {

namespace {

http1_limits limits_of(const http_server_core& s) {
    const http_limits& http = s.options.limits;
    const limits& all = s.server->core().options.limits;
    return {.reader = {.max_head = http.max_head, .max_headers = http.max_headers, .max_body = http.max_body},
            .out_queue = all.out_queue,
            .head_time = http.head_time,
            .body_time = http.body_time,
            .idle_time = http.idle_time,
            .write_stall = all.write_stall,
            .min_body_rate = http.min_body_rate,
            .min_read_rate = http.min_read_rate,
            .keep_alive = http.keep_alive};
}

}  // namespace

http_connection::http_connection(keel::http::http_worker& l, std::unique_ptr<connection> wire, const ip_address& peer,
                                 bool monitor, counted_use use)
    : worker_(l), wire_(std::move(wire)), core_(limits_of(l.shared), l.coarse_now(), async::spares_of(*l.loop)),
      peer_(peer), address_use_(std::move(use)), behind_proxy_(l.shared.proxies.contains(peer)), monitor_(monitor) {
    if (l.shared.options.access_log) access_ = std::make_unique<access_record>(l.shared.options.access_log);
    report_memory();
}

http_connection::~http_connection() { worker_.shared.budget.change(memory_, 0); }

time_point http_connection::now() const noexcept { return worker_.coarse_now(); }

void http_connection::start() { wire_->start(*this); }

bool http_connection::count_for_client() {
    client_quotas& quotas = worker_.shared.quotas;
    if (!quotas.active()) return true;
    const std::size_t most = quotas.limits().connections;
    if (behind_proxy_ && !client_quotas::is(address_use_.of().get(), client())) {
        close_sides();  // they count their calls for the previous client
        if (!address_use_.take(quotas.of(client()), &client_usage::connections, most)) return false;
    }
    const std::string_view name = admitted_.principal ? std::string_view(*admitted_.principal) : std::string_view();
    if (client_quotas::is_principal(principal_use_.of().get(), name)) return true;
    close_sides();
    return principal_use_.take(quotas.of_principal(name), &client_usage::connections, most);
}

// ---- events ----

void http_connection::on_input(std::string_view bytes) {
    auto self = shared_from_this();
    core_.on_input(bytes);
    run();
    worker_.flush_dirty();
}

void http_connection::on_continue() {
    core_.on_continue();
    run();
    worker_.flush_dirty();
}

void http_connection::on_writable() {
    auto self = shared_from_this();
    core_.on_writable();
    run();
    worker_.flush_dirty();
}

void http_connection::on_input_end() {
    auto self = shared_from_this();
    core_.on_input_end();
    run();
}

void http_connection::on_failure(std::string_view) { close(); }

void http_connection::check_time(time_point now) {
    auto self = shared_from_this();
    core_.on_time(now);
    run();
}

void http_connection::stop(duration drain) {
    if (core_.closed()) return;
    auto self = shared_from_this();
    for (auto side : {modern_, stateless_}) {
        if (side && !side->ended()) side->session().close(drain);
    }
    retire();
}

void http_connection::retire() {
    auto self = shared_from_this();
    core_.retire();
    if (plan_ == write_plan::none) run();  // else the worker or the caller of run() does it
}

void http_connection::close() {
    auto self = shared_from_this();
    core_.close();
    run();
}

void http_connection::flush() {
    if (plan_ != write_plan::none || core_.closed()) return;
    plan_ = write_plan::listed;
    worker_.add_dirty(shared_from_this());
}

void http_connection::write_dirty() {
    if (plan_ == write_plan::listed) plan_ = write_plan::none;
    run();
}

// ---- actions ----

/// The caller keeps this object alive.
void http_connection::run() {
    // Called from inside an action, it leaves the rest to the loop below; but a close takes effect at once.
    if (plan_ == write_plan::running && !core_.closed()) return;
    plan_ = write_plan::running;
    using action = http1_core::action;
    for (action what = core_.next(now()); what != action::none; what = core_.next(now())) carry_out(what);
    plan_ = write_plan::none;
    report_memory();
}

void http_connection::report_memory() {
    // A closed connection is destroyed at the end of the turn.
    const std::size_t before = std::exchange(memory_, core_.closed() ? 0 : base_memory + core_.large_buffers());
    if (memory_ == before) return;
    worker_.shared.budget.change(before, memory_);
    if (memory_ > before && worker_.shared.budget.exceeded()) worker_.relieve();
}

void http_connection::carry_out(http1_core::action what) {
    using action = http1_core::action;
    switch (what) {
        case action::none: break;
        case action::check_head:
            if (access_) access_->begin(core_.current());
            reading_request_ = true;
            contain([this] { check_head(*this, core_.current()); });
            reading_request_ = false;
            if (!answering()) worker_.count_request();  // else it is dispatched later
            break;
        case action::dispatch:
            worker_.count_request();
            if (access_) {
                access_->begin(core_.current());
                access_->set_body(core_.current().body.size());
            }
            reading_request_ = true;
            contain([this] { handle(*this, core_.current()); });
            reading_request_ = false;
            break;
        case action::refuse:
            if (access_) access_->begin();
            contain([this] { respond_error(*this, core_.refusal().status, core_.refusal().reason); });
            break;
        case action::write:
            on_wire([this] {
                connection::written w = wire_->write(core_.unwritten());
                if (w.failure.empty()) core_.on_written(w.bytes, now());
                else core_.close();
            });
            break;
        case action::pause_input: wire_->pause(); break;
        case action::resume_input: on_wire([this] { wire_->resume(); }); break;
        case action::continue_later:
            worker_.loop->post([weak = weak_from_this()] {
                if (auto self = weak.lock()) self->on_continue();
            });
            break;
        case action::tell_drained: {
            auto told = watcher_;  // it may complete the response, which resets watcher_
            told->on_drained();
            break;
        }
        case action::tell_quiet: {
            auto told = watcher_;
            told->on_quiet();
            break;
        }
        case action::end_output: wire_->end_output(); break;
        case action::tell_gone:
            if (auto told = std::exchange(watcher_, nullptr)) told->on_gone();
            break;
        case action::close:
            stream_count_.close();
            end_access();
            close_sides();
            address_use_.release();
            principal_use_.release();
            wire_->close();
            worker_.remove(this);
            break;
    }
}

// A connection that throws, for example because the process is out of descriptors, is broken.
template <class F>
void http_connection::on_wire(F f) {
    try {
        f();
    } catch (const std::exception&) {
        core_.close();
    }
}

// Exceptions of the program's own functions, or a lack of memory, end this request and nothing else (F11).
template <class F>
void http_connection::contain(F f) {
    try {
        f();
    } catch (const std::exception& e) {
        failed(e.what());
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (...) {  // anything may be thrown; it has no text that could be logged
        failed("an exception that is not a std::exception");
    }
}

void http_connection::failed(const char* what) {
    worker_.shared.server->core().report(log_level::error, std::string("failed to handle an HTTP request: ") + what);
    if (!answering()) return;
    if (streaming()) return close();
    if (auto told = std::exchange(watcher_, nullptr)) told->on_gone();  // it must not respond any more
    close_sides();
    core_.replace_responder();
    respond_error(*this, 500, "internal error");
}

void http_connection::close_sides() {
    if (auto side = std::exchange(modern_, nullptr)) side->connection_closed();
    if (auto side = std::exchange(stateless_, nullptr)) side->connection_closed();
}

void http_connection::release_input() {
    worker_.document.clear();
    core_.release_body();
}

// ---- the response ----

void http_connection::expect_answer(std::shared_ptr<answer_watcher> from) noexcept {
    using responder = http1_core::responder;
    // A half-close of a client of 2026-07-28 cancels its request (HTTP-11); for older clients it has no meaning.
    const bool modern = modern_ && from == modern_;
    core_.expect_response(modern ? responder::cancelled_by_half_close : responder::ignores_half_close);
    watcher_ = std::move(from);
}

void http_connection::prepare_response(int status) {
    if (status >= 400) worker_.shared.counters.refused.fetch_add(1, std::memory_order_relaxed);
    if (access_) access_->set_status(status);
    if (worker_.stopping()) core_.retire();
}

void http_connection::end_access() {
    if (!access_) return;
    const auto& principal = admitted_.principal;
    access_->end(principal ? std::string_view(*principal) : std::string_view(), client());
}

template <class F>
void http_connection::counted(F write) {
    if (access_) access_->before_output(core_.waiting());
    write();
    if (access_) access_->after_output(core_.waiting());
}

void http_connection::response_completed() {
    end_access();
    watcher_.reset();
    admitted_ = {};
    common_headers_.clear();
    flush();
}

void http_connection::respond(int status, std::string_view content_type, std::string_view body,
                              std::string_view headers) {
    if (!answering()) return;
    prepare_response(status);
    if (status >= 400) {
        const std::string line =
            reading_request_ ? std::string(current().method) + " " + std::string(current().path) : "";
        log_refusal(*this, status, line, body);
    }
    counted([&] { core_.respond(status, content_type, body, {worker_.date_line(), headers, common_headers_}, now()); });
    response_completed();
}

std::string& http_connection::begin_json(int status, std::string_view headers, std::size_t size) {
    prepare_response(status);
    if (access_) access_->before_output(core_.waiting());
    if (headers.empty() && common_headers_.empty()) return core_.begin_json(status, worker_.date_line(), size);
    std::string lines(worker_.date_line());
    lines += headers;
    lines += common_headers_;
    return core_.begin_json(status, lines, size);
}

void http_connection::end_json() {
    core_.end_json(now());
    if (access_) access_->after_output(core_.waiting());
    response_completed();
}

void http_connection::open_stream(std::string_view headers) {
    prepare_response(200);
    counted([&] { core_.open_stream({worker_.date_line(), headers, common_headers_}); });
    stream_count_.open(worker_.shared.counters.streams);
    flush();
}

void http_connection::end_events() {
    core_.end_events(now());
    if (access_) access_->after_output(core_.waiting());
    flush();
}

void http_connection::end_stream() {
    stream_count_.close();
    counted([&] { core_.end_stream(now()); });
    response_completed();
}

}  // namespace keel::http
