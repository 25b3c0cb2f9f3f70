#include <keel/client.hpp>

#include "async/duration_text.hpp"
#include "async/epoll_loop.hpp"
#include "async/run_on_loop.hpp"
#include "async/start_task.hpp"
#include "async/timeout.hpp"
#include "client/engine.hpp"
#include "client/features.hpp"
#include "client/lists.hpp"
#include "client/subscribe.hpp"

namespace keel::inline KEEL_ABI {

using client_side::engine_ptr;
using detail::client_engine;

namespace {

/// Limits of the caller for the whole operation.
struct wait_limits {
    wait_limits() = default;
    wait_limits(std::stop_token s) : stop(std::move(s)) {}
    /// `expired`: the text of the error after the server and before the duration; `name`: of the option.
    wait_limits(std::stop_token s, duration d, const char* expired_text, const char* option)
        : stop(std::move(s)), at_most(d), expired(expired_text), name(option) {}
    std::stop_token stop;
    duration at_most{};  // zero: no limit
    const char* expired = "";
    const char* name = "";
    bool unlimited() const noexcept { return !stop.stop_possible() && at_most == duration::zero(); }
};

template <class T>
task<T> with_limits(engine_ptr e, task<T> work, wait_limits how) {
    if (how.stop.stop_requested()) throw keel::error(error_kind::cancelled, "cancelled by the caller");
    duration bound = how.at_most == duration::zero() ? duration::max() : how.at_most;
    async::timed_run<T> run(std::move(work), bound, std::move(how.stop));
    try {
        co_return co_await run;
    } catch (const cancelled&) {
        if (run.reason() == async::abandon_reason::none) throw;
    }
    if (run.reason() == async::abandon_reason::timeout) {
        throw keel::error(error_kind::timed_out, e->connections.server_name() + ": " + how.expired + " within " +
                                                     async::duration_text(bound) + " (" + how.name + ")");
    }
    throw keel::error(error_kind::cancelled, "cancelled by the caller");
}

/// Counts running calls, so that the destructor stops the client's own loop only after they have ended.
template <class T>
task<T> counted(engine_ptr e, task<T> work) {
    client_side::loop_thread::running_call count(e->thread);
    co_return co_await std::move(work);
}

/// Runs `work` on the engine's loop; may be awaited on any loop.
template <class T>
task<T> on_engine(engine_ptr e, task<T> work, wait_limits how = {}) {
    detail::activity& here = co_await detail::this_activity{};
    bool plain = how.unlimited();
    if (plain && &here.loop() == e->on.get()) co_return co_await std::move(work);
    if (!plain) work = with_limits(e, std::move(work), std::move(how));
    if (e->thread.started()) work = counted(e, std::move(work));
    co_return co_await async::run_on_loop(e->on, std::move(work));
}

}  // namespace

client::client(server_target where, client_options options) {
    auto own = async::epoll_loop::create();
    auto connector = client_access::connector_of(where);
    engine_ = std::make_shared<client_engine>(own, std::move(connector), std::move(options));
    engine_->thread.start(std::move(own));
}

client::client(child_process what, client_options options)
    : client(server_target(std::move(what)), std::move(options)) {}

client::client(std::shared_ptr<loop> on, server_target where, client_options options)
    : engine_(std::make_shared<client_engine>(std::move(on), client_access::connector_of(where), std::move(options))) {}

namespace {

// Closes an engine and calls `done` when it is closed. On its loop.
void close_engine(const engine_ptr& e, std::function<void()> done) {
    async::start_task(*e->on, e->connections.close(), [e, done = std::move(done)](detail::outcome<void>) { done(); });
}

// Closes a client on a loop of the user. The loop may end before this runs.
struct deferred_close {
    explicit deferred_close(engine_ptr x) noexcept : engine(std::move(x)) {}
    deferred_close(const deferred_close&) = delete;
    deferred_close& operator=(const deferred_close&) = delete;
    ~deferred_close() {
        if (engine) engine->connections.abandon();  // the loop has ended
    }
    void run() {
        engine_ptr held = std::exchange(engine, nullptr);
        held->connections.end();
        close_engine(held, [] {});
    }
    engine_ptr engine;
};

void end_engine(engine_ptr e) {
    if (!e) return;
    if (!e->thread.started()) {
        auto last = std::make_shared<deferred_close>(e);
        e->on->post([last] { last->run(); });
        return;
    }
    e->on->post([e] {
        e->connections.end();
        close_engine(e, [e] { e->thread.stop_when_idle(e->options.limits.cleanup_grace); });
    });
    e->thread.join();
}

}  // namespace

client::~client() { end_engine(std::move(engine_)); }
client::client(client&&) noexcept = default;
client& client::operator=(client&& other) noexcept {
    if (this != &other) {
        end_engine(std::move(engine_));
        engine_ = std::move(other.engine_);
    }
    return *this;
}

task<void> client::connect(connect_options how) {
    return on_engine(engine_, engine_->connections.connect(),
                     {std::move(how.stop), how.timeout, "no connection", "connect_options::timeout"});
}
task<void> client::close() { return on_engine(engine_, engine_->connections.close()); }
bool client::connected() const { return engine_ && engine_->shared.connected(); }
server_facts client::server() const { return engine_->shared.facts(); }
std::string client::describe() const { return engine_->where->describe(); }

task<std::vector<tool>> client::list_tools(call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_, client_side::list_all<tool>(engine_, std::move(how)), std::move(stop));
}
task<page<tool>> client::list_tools_page(std::optional<std::string> cursor, call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_, client_side::list_page<tool>(engine_, std::move(cursor), std::move(how)),
                     std::move(stop));
}
namespace {

task<tool_result> wrong_arguments() {
    throw std::invalid_argument("keel: invalid tool call: the name must be UTF-8 and the arguments a JSON object");
    co_return tool_result();
}

}  // namespace

task<tool_result> client::call_tool(std::string name, const json::value& arguments, call_options how) {
    // Serialized before the task starts, so that the caller's value need not be copied.
    std::string members = R"("name":)";
    bool right = json::write_string(members, name) && (arguments.is_null() || arguments.is_object());
    if (right && !arguments.is_null()) {
        members += R"(,"arguments":)";
        right = json::write(members, arguments);
    }
    if (!right) return wrong_arguments();
    std::stop_token stop = how.stop;
    json::value kept = engine_->where->is_http() ? arguments : json::value();
    return on_engine(
        engine_, client_side::call_tool(engine_, std::move(name), std::move(members), std::move(kept), std::move(how)),
        std::move(stop));
}
task<std::vector<resource>> client::list_resources(call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_, client_side::list_all<resource>(engine_, std::move(how)), std::move(stop));
}
task<page<resource>> client::list_resources_page(std::optional<std::string> cursor, call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_, client_side::list_page<resource>(engine_, std::move(cursor), std::move(how)),
                     std::move(stop));
}
task<std::vector<resource_template>> client::list_resource_templates(call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_, client_side::list_all<resource_template>(engine_, std::move(how)), std::move(stop));
}
task<page<resource_template>> client::list_resource_templates_page(std::optional<std::string> cursor,
                                                                   call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_, client_side::list_page<resource_template>(engine_, std::move(cursor), std::move(how)),
                     std::move(stop));
}
task<std::vector<resource_contents>> client::read_resource(std::string uri, call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_, client_side::read_resource(engine_, std::move(uri), std::move(how)), std::move(stop));
}
task<std::vector<prompt>> client::list_prompts(call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_, client_side::list_all<prompt>(engine_, std::move(how)), std::move(stop));
}
task<page<prompt>> client::list_prompts_page(std::optional<std::string> cursor, call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_, client_side::list_page<prompt>(engine_, std::move(cursor), std::move(how)),
                     std::move(stop));
}
task<prompt_result> client::get_prompt(std::string name, std::map<std::string, std::string> arguments,
                                       call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_, client_side::get_prompt(engine_, std::move(name), std::move(arguments), std::move(how)),
                     std::move(stop));
}
task<completion> client::complete_prompt(std::string name, std::string argument, std::string value,
                                         std::map<std::string, std::string> others, call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_,
                     client_side::complete(engine_, true, std::move(name), std::move(argument), std::move(value),
                                           std::move(others), std::move(how)),
                     std::move(stop));
}
task<completion> client::complete_resource(std::string uri_template, std::string argument, std::string value,
                                           std::map<std::string, std::string> others, call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_,
                     client_side::complete(engine_, false, std::move(uri_template), std::move(argument),
                                           std::move(value), std::move(others), std::move(how)),
                     std::move(stop));
}
task<subscription> client::subscribe(subscription_request what, call_options how) {
    // A subscription may take several requests: `total` limits all of them together.
    wait_limits limit(how.stop, how.total, "subscribe: no acknowledgment", "call_options::total");
    return on_engine(engine_, client_side::subscribe(engine_, std::move(what), std::move(how)), std::move(limit));
}
task<void> client::ping(call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_, client_side::ping(engine_, std::move(how)), std::move(stop));
}
task<void> client::set_log_level(log_level from, call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_, client_side::set_log_level(engine_, from, std::move(how)), std::move(stop));
}
void client::set_roots(std::vector<root> roots) { client_side::set_roots(engine_, std::move(roots)); }
task<json::value> client::request(std::string method, json::value params, call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(engine_, client_side::request(engine_, std::move(method), std::move(params), std::move(how)),
                     std::move(stop));
}
task<request_round> client::request_once(std::string method, json::value params, round_answers answers,
                                         call_options how) {
    std::stop_token stop = how.stop;
    return on_engine(
        engine_,
        client_side::request_once(engine_, std::move(method), std::move(params), std::move(answers), std::move(how)),
        std::move(stop));
}
void client::notify(std::string method, json::value params) {
    engine_->on->post([e = engine_, method = std::move(method), params = std::move(params)] {
        e->catch_and_log("sending a notification", [&] { e->sender.notify(method, params); });
    });
}

}  // namespace keel
