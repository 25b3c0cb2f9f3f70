#include <keel/blocking_client.hpp>

#include "client/engine.hpp"

#include <keel/error.hpp>

#include <stdexcept>

namespace keel::inline KEEL_ABI {

namespace detail {

std::shared_ptr<loop> loop_of(const client& c) {
    std::shared_ptr<loop> on = client_access::loop_of(c);
    if (!on) throw std::logic_error("keel: this client was moved from");
    return on;
}

void refuse_to_wait_on(const loop& on) {
    if (on.here()) throw std::logic_error("keel: a blocking call on the client's own loop would deadlock");
}

void throw_loop_ended() { throw error(error_kind::closed, "the client's loop has ended"); }

}  // namespace detail

// ---- subscriptions ----

blocking_subscription::blocking_subscription(std::shared_ptr<loop> on, subscription s)
    : state_(std::make_shared<state>()) {
    state_->loop = std::move(on);
    state_->changes = std::move(s);
}

blocking_subscription::state& blocking_subscription::there() const {
    if (!state_) throw std::logic_error("keel: this subscription is empty");
    return *state_;
}

subscription_request blocking_subscription::agreed() const { return there().changes.agreed(); }
subscription_end blocking_subscription::how_ended() const { return there().changes.how_ended(); }
std::string blocking_subscription::why_lost() const { return there().changes.why_lost(); }
void blocking_subscription::stop() { there().changes.stop(); }

namespace {

// The queued changes of an ended subscription are available without the loop, which may have ended.
std::optional<change> what_is_left(loop& l, subscription& over) {
    std::optional<change> first;
    detail::activity line(l);
    detail::start(line, over.next(), [&first](detail::outcome<std::optional<change>> o) {
        if (o.index() == 1) first = std::get<1>(std::move(o));
    });
    return first;
}

// The loop may end during `wait`.
template <class Wait>
std::optional<change> next_of(loop& l, subscription& changes, Wait wait) {
    auto is_over = [&] { return changes.how_ended() != subscription_end::none; };
    if (is_over()) return what_is_left(l, changes);
    try {
        return wait();
    } catch (const error& e) {
        if (e.kind() != error_kind::closed || !is_over()) throw;
    }
    return what_is_left(l, changes);
}

}  // namespace

std::optional<change> blocking_subscription::next() {
    state& s = there();
    detail::refuse_to_wait_on(*s.loop);  // before waiting for the mutex
    std::lock_guard turn(s.turn);
    return next_of(*s.loop, s.changes, [&s] { return detail::wait_for(s.loop, s.changes.next()); });
}

std::optional<change> blocking_subscription::next(duration at_most) {
    state& s = there();
    detail::refuse_to_wait_on(*s.loop);
    time_point when = after(std::chrono::steady_clock::now(), at_most);
    std::unique_lock turn(s.turn, std::defer_lock);
    if (when == time_point::max()) turn.lock();
    else if (!turn.try_lock_until(when)) return std::nullopt;
    return next_of(*s.loop, s.changes, [&s, when] {
        return detail::wait_for_until(s.loop, s.changes.next(), when).value_or(std::nullopt);
    });
}

// ---- the client ----

blocking_client::blocking_client(server_target where, client_options options)
    : client_(std::move(where), std::move(options)) {}
blocking_client::blocking_client(child_process what, client_options options)
    : client_(std::move(what), std::move(options)) {}

void blocking_client::connect(connect_options how) { wait(client_.connect(std::move(how))); }
void blocking_client::close() { wait(client_.close()); }

std::vector<tool> blocking_client::list_tools(call_options how) { return wait(client_.list_tools(std::move(how))); }
page<tool> blocking_client::list_tools_page(std::optional<std::string> cursor, call_options how) {
    return wait(client_.list_tools_page(std::move(cursor), std::move(how)));
}
tool_result blocking_client::call_tool(std::string name, json::value arguments, call_options how) {
    return wait(client_.call_tool(std::move(name), std::move(arguments), std::move(how)));
}

std::vector<resource> blocking_client::list_resources(call_options how) {
    return wait(client_.list_resources(std::move(how)));
}
page<resource> blocking_client::list_resources_page(std::optional<std::string> cursor, call_options how) {
    return wait(client_.list_resources_page(std::move(cursor), std::move(how)));
}
std::vector<resource_template> blocking_client::list_resource_templates(call_options how) {
    return wait(client_.list_resource_templates(std::move(how)));
}
page<resource_template> blocking_client::list_resource_templates_page(std::optional<std::string> cursor,
                                                                      call_options how) {
    return wait(client_.list_resource_templates_page(std::move(cursor), std::move(how)));
}
std::vector<resource_contents> blocking_client::read_resource(std::string uri, call_options how) {
    return wait(client_.read_resource(std::move(uri), std::move(how)));
}

std::vector<prompt> blocking_client::list_prompts(call_options how) {
    return wait(client_.list_prompts(std::move(how)));
}
page<prompt> blocking_client::list_prompts_page(std::optional<std::string> cursor, call_options how) {
    return wait(client_.list_prompts_page(std::move(cursor), std::move(how)));
}
prompt_result blocking_client::get_prompt(std::string name, std::map<std::string, std::string> arguments,
                                          call_options how) {
    return wait(client_.get_prompt(std::move(name), std::move(arguments), std::move(how)));
}
completion blocking_client::complete_prompt(std::string name, std::string argument, std::string value,
                                            std::map<std::string, std::string> others, call_options how) {
    return wait(client_.complete_prompt(std::move(name), std::move(argument), std::move(value), std::move(others),
                                        std::move(how)));
}
completion blocking_client::complete_resource(std::string uri_template, std::string argument, std::string value,
                                              std::map<std::string, std::string> others, call_options how) {
    return wait(client_.complete_resource(std::move(uri_template), std::move(argument), std::move(value),
                                          std::move(others), std::move(how)));
}

blocking_subscription blocking_client::subscribe(subscription_request what, call_options how) {
    std::shared_ptr<loop> on = detail::loop_of(client_);
    subscription s = detail::wait_for(on, client_.subscribe(std::move(what), std::move(how)));
    return blocking_subscription(std::move(on), std::move(s));
}

void blocking_client::ping(call_options how) { wait(client_.ping(std::move(how))); }
void blocking_client::set_log_level(log_level from, call_options how) {
    wait(client_.set_log_level(from, std::move(how)));
}
void blocking_client::set_roots(std::vector<root> roots) { client_.set_roots(std::move(roots)); }
json::value blocking_client::request(std::string method, json::value params, call_options how) {
    return wait(client_.request(std::move(method), std::move(params), std::move(how)));
}
request_round blocking_client::request_once(std::string method, json::value params, round_answers answers,
                                            call_options how) {
    return wait(client_.request_once(std::move(method), std::move(params), std::move(answers), std::move(how)));
}
void blocking_client::notify(std::string method, json::value params) {
    client_.notify(std::move(method), std::move(params));
}

}  // namespace keel
