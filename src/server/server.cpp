#include "server/server_impl.hpp"

#include "async/release_later.hpp"

#include <algorithm>
#include <future>

namespace keel::inline KEEL_ABI {

server::impl::impl(implementation about, server_options options)
    : core(std::make_shared<server_side::server_core>(std::move(about), std::move(options))) {}

server::impl::~impl() {
    end_background();
    finish();  // sessions on the caller's loops may have outlived the server
}

bool server::impl::on_background() const {
    std::lock_guard lock(mutex);
    return background && background->here();
}

bool server::impl::in_handler() const {
    if (server_side::in_handler_of(*core)) return true;
    // A resumed coroutine has no mark: it runs on its loop like other callbacks.
    std::lock_guard lock(mutex);
    bool inside = background && background->here();
    for (const auto& [key, s] : sessions) inside = inside || s.loop->here();
    return inside;
}

void server::impl::refuse_in_handler(const char* what) const {
    if (in_handler()) {
        throw std::logic_error(
            std::string("keel: server::") + what +
            " must not be called in a handler of this server (it would wait for itself); use request_stop");
    }
}

void server::impl::refuse_in_hook(const char* what) const {
    if (hook_thread == std::this_thread::get_id()) {
        throw std::logic_error(std::string("keel: server::") + what + " must not be called in a start or stop hook");
    }
}

void server::impl::refuse_while_serving(const char* what) {
    refuse_in_hook(what);
    std::lock_guard lock(hook_mutex);
    if (begun)
        throw std::logic_error(std::string("keel: server::") + what +
                               " must not be called while the server is running");
}

// ---- sessions ----

void server::impl::serve(std::shared_ptr<keel::loop> on, std::unique_ptr<connection> wire, const limits& bounds,
                         std::function<void(const connection_end&)> ended, std::string principal) {
    std::uint64_t key = 0;
    std::shared_ptr<server_side::server_session> s;
    const char* refusal = nullptr;
    {
        std::lock_guard lock(mutex);
        if (stopping) {
            refusal = "server shutting down";
        } else if (wired >= core->options.max_connections) {
            refusal = "too many connections (limits::max_connections)";
        } else {
            s = make_session(on, ended, std::move(principal), false, key);
        }
    }
    if (!s) {
        connection_end refused;
        refused.cause = std::string("refused: ") + refusal;
        core->log(log_level::warning, "connection " + refused.cause);
        tell(*core, ended, refused);
        return;
    }
    // std::function requires a copyable callable.
    auto held = std::make_shared<std::unique_ptr<connection>>(std::move(wire));
    auto begin = [s, on, held, bounds] { s->start(on, std::move(*held), bounds); };
    if (on->here()) {
        begin();
    } else if (!on->post(begin)) {
        connection_end gone;
        gone.cause = "the event loop has ended";
        session_ended(key, gone);
        tell(*core, ended, gone);
    }
}

std::shared_ptr<server_side::server_session> server::impl::make_session(
    std::shared_ptr<keel::loop> on, std::function<void(const connection_end&)> ended, std::string principal,
    bool own_streams, std::uint64_t& key) {
    key = next_session++;
    auto s = std::make_shared<server_side::server_session>(
        core,
        [weak = weak_from_this(), shared = core, key, ended = std::move(ended)](const connection_end& end) {
            tell(*shared, ended, end);
            if (auto self = weak.lock()) self->session_ended(key, end);
        },
        std::move(principal), own_streams);
    served& mine = sessions[key];
    mine.session = s;
    mine.loop = std::move(on);
    mine.own_streams = own_streams;
    if (!own_streams) ++wired;
    return s;
}

std::shared_ptr<server_side::server_session> server::impl::attach(std::shared_ptr<keel::loop> on,
                                                                  std::function<void(const connection_end&)> ended) {
    std::lock_guard lock(mutex);
    if (stopping) return nullptr;
    std::uint64_t key = 0;
    return make_session(std::move(on), std::move(ended), {}, true, key);
}

bool server::impl::add_transport(std::shared_ptr<server_transport> s) {
    std::lock_guard lock(mutex);
    if (stopping) return false;
    transports.push_back(std::move(s));
    return true;
}

void server::impl::transport_ended(const server_transport* s) {
    std::shared_ptr<server_transport> ended;  // destroyed outside the lock
    {
        std::lock_guard lock(mutex);
        auto at = std::find_if(transports.begin(), transports.end(), [&](const auto& each) { return each.get() == s; });
        if (at == transports.end()) return;
        ended = std::move(*at);
        transports.erase(at);
    }
    check_idle();
}

// An exception of the callback is logged, so that the rest of the shutdown still happens.
void server::impl::tell(const server_side::server_core& core, const std::function<void(const connection_end&)>& ended,
                        const connection_end& end) {
    if (!ended) return;
    try {
        ended(end);
    } catch (const std::exception& e) {
        core.log(log_level::error, std::string("the callback for a closed connection threw: ") + e.what());
    }
}

void server::impl::session_ended(std::uint64_t key, const connection_end& end) {
    std::shared_ptr<keel::loop> on;
    std::shared_ptr<server_side::server_session> ended;
    {
        std::lock_guard lock(mutex);
        auto at = sessions.find(key);
        if (at == sessions.end()) return;
        on = at->second.loop;
        ended = std::move(at->second.session);
        if (!at->second.own_streams) --wired;
        sessions.erase(at);
        last = end;
    }
    detail::release_later(*on, std::move(ended));  // the session is on the stack
    check_idle();
}

void server::impl::check_idle() {
    std::function<void()> tell;
    {
        std::lock_guard lock(mutex);
        if (idle()) tell = when_idle;
    }
    changed.notify_all();
    if (tell) tell();
}

void server::impl::tell_list_changed(list_kind which) {
    std::vector<served> all;
    {
        std::lock_guard lock(mutex);
        for (const auto& [key, s] : sessions) all.push_back(s);
    }
    unsigned bit = 1U << static_cast<unsigned>(which);
    for (const served& each : all) {
        if (each.changes->fetch_or(bit) != 0) continue;  // a message is pending
        each.loop->post([weak = std::weak_ptr(each.session), changes = each.changes] {
            unsigned kinds = changes->exchange(0);
            auto s = weak.lock();
            if (!s || s->closed()) return;
            for (unsigned kind = 0; kind < server_side::list_kinds; ++kind) {
                if (kinds & (1U << kind)) s->list_changed(static_cast<list_kind>(kind));
            }
        });
    }
}

// ---- start and stop hooks ----

namespace {

class hook_mark {
public:
    explicit hook_mark(std::atomic<std::thread::id>& at) noexcept : at_(at) { at_ = std::this_thread::get_id(); }
    hook_mark(const hook_mark&) = delete;
    hook_mark& operator=(const hook_mark&) = delete;
    ~hook_mark() { at_ = std::thread::id(); }

private:
    std::atomic<std::thread::id>& at_;
};

}  // namespace

void server::impl::begin() {
    refuse_in_hook("start");
    std::lock_guard lock(hook_mutex);
    if (begun) return;
    hook_mark inside(hook_thread);
    auto made = std::make_shared<
        server_side::started_states>();  // if a hook throws, the objects are destroyed in reverse order
    for (const auto& hook : start_hooks) made->add(hook());
    core->set_states(std::move(made));
    abandoned_before = core->totals.abandoned;
    lost_some = false;
    begun = true;
}

void server::impl::begin_serving() {
    begin();
    std::lock_guard lock(mutex);
    stopping = false;
}

void server::impl::finish() {
    std::lock_guard lock(hook_mutex);
    if (!begun) return;
    hook_mark inside(hook_thread);
    for (const auto& hook : stop_hooks) {
        try {
            hook();
        } catch (const std::exception& e) {
            core->log(log_level::error, std::string("an on_stop hook threw: ") + e.what());
        } catch (...) {  // not a std::exception: there is no text to log
            core->log(log_level::error, "an on_stop hook threw an exception that is not a std::exception");
        }
    }
    auto states = core->set_states(nullptr);
    // If a handler was abandoned, it may still use the objects: they live as long as its context. Otherwise they are released
    // now, even if a context was saved.
    if (core->totals.abandoned == abandoned_before && !lost_some) states->release();
    begun = false;
}

void server::impl::finish_if_idle() {
    {
        std::lock_guard lock(mutex);
        if (!sessions.empty()) return;
    }
    finish();
}

// ---- endpoints ----

void server::impl::open(const std::shared_ptr<async::epoll_loop>& on, const endpoint& where, limits bounds,
                        bool drain_is_given, std::function<void()> stdio_ended) {
    if (where.where == endpoint::kind::stdio) {
        keel::stdio wire = open_stdio(*on);
        // Input from a file: wait for all answers, however long they take (C1).
        if (wire.input_is_file && !drain_is_given) bounds.drain_on_eof = duration::max();
        serve(on, std::move(wire.wire), bounds, [stdio_ended = std::move(stdio_ended)](const connection_end&) {
            if (stdio_ended) stdio_ended();
        });
        return;
    }
    auto accepted = [weak = weak_from_this(), loop = std::weak_ptr(on), bounds](std::unique_ptr<connection> wire) {
        auto self = weak.lock();
        auto l = loop.lock();
        if (self && l) self->serve(l, std::move(wire), bounds, {});
    };
    listen_options options;
    options.max_connections = core->options.max_connections;
    std::shared_ptr<listener> l =
        where.where == endpoint::kind::unix_socket
            ? listen_unix(*on, where.address, std::move(accepted), options)
            : listen_tcp(*on, tcp_address::parse(where.address), std::move(accepted), options);
    std::lock_guard lock(mutex);
    address = l->describe();
    listeners.push_back({std::move(l), on});
}

void server::impl::request_stop(duration drain, std::shared_ptr<void> keep) {
    std::vector<std::pair<std::uint64_t, served>> all;
    std::vector<listening> closing;
    std::vector<std::shared_ptr<server_transport>> serving;
    {
        std::lock_guard lock(mutex);
        stopping = true;
        serving = transports;
        all.assign(sessions.begin(), sessions.end());
        closing.swap(listeners);
    }
    for (listening& each : closing) {
        if (each.loop->here()) each.at->close();
        else each.loop->post([l = std::move(each.at)] { l->close(); });
    }
    for (const auto& [key, each] : all) {
        auto close = [s = each.session, drain, keep] { s->close(drain, keep); };
        if (each.loop->here()) {
            close();
        } else if (!each.loop->post(close)) {
            // The caller's loop has ended, so its sessions cannot report their end.
            connection_end gone;
            gone.cause = "the event loop has ended";
            lost_some = true;
            session_ended(key, gone);
        }
    }
    for (const auto& each : serving) each->stop(drain);
    check_idle();
}

connection_end server::impl::wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return idle(); });
    return last;
}

void server::impl::wait_for_background() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] {
        for (const auto& [key, s] : sessions) {
            if (s.loop == background) return false;
        }
        return true;
    });
}

void server::impl::end_background() {
    std::thread ending;
    std::shared_ptr<async::epoll_loop> l;
    {
        std::lock_guard lock(mutex);
        ending.swap(background_thread);
        l = std::exchange(background, nullptr);
    }
    if (!l) return;
    l->stop();
    if (!ending.joinable()) return;
    if (ending.get_id() == std::this_thread::get_id())
        ending.detach();  // this is the background thread: its loop ends with this turn
    else ending.join();
}

std::size_t server::impl::end_workers() {
    auto pool = core->started_workers();
    return pool ? pool->shut_down(core->options.limits.cleanup_grace) : 0;
}

// ---- keel::server ----

server::server(implementation about, server_options options)
    : impl_(std::make_shared<impl>(std::move(about), std::move(options))) {}

server::~server() {
    bool inside = server_side::in_handler_of(*impl_->core) || impl_->on_background();
    // Sessions on the caller's loops end later, on their loops; until then they keep `impl` alive.
    impl_->request_stop({}, impl_);
    // A handler that destroys its own server cannot wait for itself; its request keeps alive what it uses.
    if (inside) return;
    impl_->wait_for_background();
    impl_->end_background();
    impl_->end_workers();
    impl_->finish_if_idle();
}

namespace {}

void server::add(detail::tool_entry entry) {
    bool replace = entry.about.options.replace;
    impl_->core->tools.put(std::make_shared<const server_side::tool>(std::move(entry)), replace);
    impl_->tell_list_changed(list_kind::tools);
}

void server::add(detail::resource_entry entry) {
    bool replace = entry.options.replace;
    impl_->core->resources.put(std::make_shared<const server_side::resource_offer>(std::move(entry)), replace);
    impl_->tell_list_changed(list_kind::resources);
}

void server::add(detail::template_entry entry) {
    bool replace = entry.options.replace;
    impl_->core->templates.put(std::make_shared<const server_side::template_offer>(std::move(entry)), replace);
    impl_->tell_list_changed(list_kind::resources);
}

void server::add(detail::prompt_entry entry) {
    bool replace = entry.replace;
    impl_->core->prompts.put(std::make_shared<const server_side::prompt_offer>(std::move(entry)), replace);
    impl_->tell_list_changed(list_kind::prompts);
}

void server::add_tool(tool_description about, std::function<tool_result(context&, const json::value&)> f) {
    detail::tool_entry entry;
    entry.about = std::move(about);
    if (f) {
        entry.handler.quick = entry.about.options.quick;
        entry.handler.plain = [f = std::move(f)](context* ctx, const json::value& arguments, detail::reply& out) {
            detail::write_result(out, f(*ctx, arguments));
        };
    }
    add(std::move(entry));
}

namespace {

task<detail::reply> run_open_task(const std::function<task<tool_result>(context, json::value)>& f, context ctx,
                                  json::value arguments) {
    tool_result r = co_await f(std::move(ctx), std::move(arguments));
    detail::reply out;
    detail::write_result(out, r);
    co_return out;
}

}  // namespace

void server::add_tool(tool_description about, std::function<task<tool_result>(context, json::value)> f) {
    detail::tool_entry entry;
    entry.about = std::move(about);
    if (f) {
        entry.handler.coroutine = [f = std::move(f)](context ctx, json::value arguments) {
            return run_open_task(f, std::move(ctx), std::move(arguments));
        };
    }
    add(std::move(entry));
}

bool server::remove_tool(std::string_view name) {
    bool removed = impl_->core->tools.remove(name);
    if (removed) impl_->tell_list_changed(list_kind::tools);
    return removed;
}

bool server::remove_resource(std::string_view uri) {
    bool removed = impl_->core->resources.remove(uri);
    if (removed) impl_->tell_list_changed(list_kind::resources);
    return removed;
}

bool server::remove_resource_template(std::string_view uri_template) {
    bool removed = impl_->core->templates.remove(uri_template);
    if (removed) impl_->tell_list_changed(list_kind::resources);
    return removed;
}

bool server::remove_prompt(std::string_view name) {
    bool removed = impl_->core->prompts.remove(name);
    if (removed) impl_->tell_list_changed(list_kind::prompts);
    return removed;
}

void server::resource_updated(std::string_view uri) { impl_->core->topics.publish(uri); }
void server::resources_changed() { impl_->tell_list_changed(list_kind::resources); }

void server::add_start_hook(std::function<detail::started_state()> f) {
    impl_->refuse_while_serving("on_start");
    impl_->start_hooks.push_back(std::move(f));
}

void server::on_stop(std::function<void()> f) {
    impl_->refuse_while_serving("on_stop");
    impl_->stop_hooks.push_back(std::move(f));
}

void server::use(middleware m) {
    impl_->refuse_while_serving("use");
    if (!m) throw std::invalid_argument("keel: server::use: the middleware is empty");
    impl_->core->around.push_back(std::move(m));
}

namespace {

// An error on the background thread, as a value: exception objects are not passed between threads.
struct start_failure {
    std::string what = {};
    std::error_code code = {};

    /// Removes the text of the error code, which std::system_error appends again.
    std::string without_code() const {
        std::string tail = ": " + code.message();
        return what.ends_with(tail) ? what.substr(0, what.size() - tail.size()) : what;
    }
};

}  // namespace

void server::start(endpoint where) {
    impl_->begin_serving();
    std::shared_ptr<async::epoll_loop> on;
    {
        std::lock_guard lock(impl_->mutex);
        if (!impl_->background) {
            impl_->background = async::epoll_loop::create();
            impl_->background_thread = std::thread([l = impl_->background] {
                l->run();
                l->end();
            });
        }
        on = impl_->background;
    }
    // Opened on the background thread; the caller gets the error, if any.
    if (on->here()) return impl_->open(on, where, impl_->core->options.limits, false);
    auto opened = std::make_shared<std::promise<start_failure>>();
    auto future = opened->get_future();
    bool posted = on->post([impl = impl_, on, where, opened] {
        start_failure failed;
        try {
            impl->open(on, where, impl->core->options.limits, false);
        } catch (const std::system_error& e) {
            failed = {e.what(), e.code()};
        } catch (const std::exception& e) {
            failed = {e.what(), {}};
        }
        opened->set_value(std::move(failed));
    });
    opened.reset();  // if the loop ends first, the caller gets a broken promise
    if (!posted) throw std::runtime_error("keel: the server was stopped while it was starting");
    start_failure failed = future.get();
    if (failed.code) throw std::system_error(failed.code, failed.without_code());
    if (!failed.what.empty()) throw std::runtime_error(failed.what);
}

std::string server::address() const {
    std::lock_guard lock(impl_->mutex);
    return impl_->address;
}

void server::serve(std::shared_ptr<loop> on, std::unique_ptr<connection> wire,
                   std::function<void(const connection_end&)> ended, std::string principal) {
    impl_->begin();
    impl_->serve(std::move(on), std::move(wire), impl_->core->options.limits, std::move(ended), std::move(principal));
}

void server::request_stop(duration drain) { impl_->request_stop(drain); }

void server::stop(duration drain) {
    impl_->refuse_in_handler("stop");
    impl_->refuse_in_hook("stop");
    impl_->request_stop(drain);
    impl_->wait();
    impl_->end_background();
    impl_->finish();
}

connection_end server::wait() {
    impl_->refuse_in_handler("wait");
    return impl_->wait();
}

server_health server::health() const {
    server_health h = impl_->core->health();
    std::lock_guard lock(impl_->mutex);
    h.connections = impl_->sessions.size();
    return h;
}

const implementation& server::about() const noexcept { return impl_->core->about; }

}  // namespace keel
