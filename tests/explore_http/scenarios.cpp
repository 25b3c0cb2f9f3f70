#include "explore_http/scenarios.hpp"

#include <stdexcept>

namespace keel::explore_http {

namespace {

constexpr request_plan at_once{};
constexpr request_plan posted{.reply = reply::json_at_once, .body = "xyz"};
constexpr request_plan later{.reply = reply::later};
constexpr request_plan cancellable{.reply = reply::later_cancellable};
constexpr request_plan expecting{.reply = reply::at_once, .expect = true, .body = "xyz"};
constexpr request_plan closing{.reply = reply::later, .close = true};
constexpr request_plan old{.reply = reply::later, .http10 = true};
constexpr request_plan head{.reply = reply::at_once, .head = true};
constexpr request_plan failing{.reply = reply::fails};
constexpr request_plan forgotten{.reply = reply::forgets};
constexpr request_plan invalid{.reply = reply::invalid};
constexpr request_plan refusing{.reply = reply::refused_by_head, .expect = true, .body = "xyz"};

std::vector<setting> make_settings() {
    std::vector<setting> all = {
        {.name = "requests that are answered at once", .requests = {at_once, posted, head}},
        {.name = "deferred responses, half-close ignored", .requests = {later, posted, later}},
        {.name = "deferred responses, half-close cancels", .requests = {cancellable, at_once, cancellable}},
        {.name = "a body with Expect: 100-continue", .requests = {expecting, later, expecting}},
        {.name = "Connection: close", .requests = {at_once, closing, at_once}},
        {.name = "HTTP/1.0", .requests = {old, old}},
        {.name = "an invalid request", .requests = {later, invalid, at_once}},
        {.name = "an application that refuses heads", .requests = {posted, refusing, at_once}},
        {.name = "an application that fails", .requests = {at_once, failing, at_once}},
        {.name = "an application that forgets a request", .requests = {at_once, forgotten, at_once}},
        {.name = "little room for output", .requests = {posted, later, at_once, posted}, .tight_output = true},
        {.name = "little room for input",
         .requests = {later, posted, at_once, cancellable, at_once, at_once},
         .tight_input = true},
        {.name = "little room for input, half-close cancels",
         .requests = {cancellable, at_once, at_once, at_once, at_once},
         .tight_input = true},
        {.name = "output written at the end of the turn", .requests = {later, cancellable, later}, .lazy_flush = true},
    };
    for (setting& each : all) each = prepared(std::move(each));
    return all;
}

const setting* called(std::string_view name) {
    for (const setting& each : all_settings()) {
        if (each.name == name) return &each;
    }
    throw std::invalid_argument("unknown setting");
}

events operator+(events x, const events& y) {
    x.insert(x.end(), y.begin(), y.end());
    return x;
}

using enum event;

const events streamed = {open_stream, send_events, end_stream};
const events slow_reader = {block, take_a_byte, unblock};

}  // namespace

const std::vector<setting>& all_settings() {
    static const std::vector<setting> all = make_settings();
    return all;
}

std::vector<scenario> all_scenarios() {
    const setting* immediate = called("requests that are answered at once");
    const setting* older = called("deferred responses, half-close ignored");
    const setting* modern = called("deferred responses, half-close cancels");
    const setting* waiting = called("a body with Expect: 100-continue");
    const setting* once = called("Connection: close");
    const setting* old_version = called("HTTP/1.0");
    const setting* refused = called("an invalid request");
    const setting* by_head = called("an application that refuses heads");
    const setting* little_output = called("little room for output");
    const setting* little_input = called("little room for input");
    const setting* little_modern = called("little room for input, half-close cancels");
    const setting* lazy = called("output written at the end of the turn");
    const events pieces = {send_piece, send_piece, send_piece};
    return {
        {immediate, pieces + events{send_request, send_everything, half_close, retire, tick} + slow_reader},
        {immediate, events{block, send_request, send_piece, wake, tick, tick, unblock}},
        {older, events{send_request, block, wake, tick, tick} + streamed},
        {older, events{send_request, send_everything, respond, respond, run_posted, half_close, retire, tick}},
        {older, events{send_everything, run_posted, run_posted, half_close} + streamed + slow_reader},
        {older, events{send_everything, respond, run_posted, disconnect, tick, tick} + streamed},
        {modern, events{send_request, send_everything, run_posted, half_close, respond, drop_connection} + slow_reader},
        {modern, events{send_everything, run_posted, retire, tick, tick} + streamed + events{block, unblock}},
        {waiting, pieces + pieces + events{respond, run_posted, half_close, block, unblock, tick}},
        {waiting, pieces + events{send_piece, send_everything, tick, tick, retire, block, unblock}},
        {waiting, pieces + events{send_piece, pass_time, pass_time, pass_time, tick, half_close}},
        {older,
         events{send_request, block, open_stream, take_a_byte, take_a_byte, pass_time, pass_time, tick, unblock}},
        {once, events{send_piece, send_everything, run_posted, respond, half_close, tick} + slow_reader},
        {once, events{send_everything, run_posted, retire, disconnect} + streamed + events{block, unblock}},
        {old_version, events{send_request, send_everything, run_posted, respond, half_close} + streamed + events{tick}},
        {refused,
         events{send_request, send_everything, respond, run_posted, half_close, tick, tick, retire, block, unblock}},
        {by_head, pieces + pieces + events{run_posted, half_close, tick, tick, block, unblock}},
        {by_head,
         events{send_request, send_piece, send_piece, send_everything, tick, retire, disconnect} + slow_reader},
        {little_output,
         events{send_request, send_everything, respond, run_posted, run_posted, half_close, tick} + slow_reader},
        {little_output, events{send_everything, run_posted, wake, fail_writes, tick} + slow_reader + events{respond}},
        {little_input,
         events{send_request, send_request, send_everything, respond, run_posted, run_posted, half_close, tick}},
        {little_input, events{send_request, send_request, send_request, send_request, run_posted, retire} + streamed},
        {little_modern,
         events{send_request, send_request, send_request, send_everything, respond, run_posted, half_close, tick}},
        {lazy,
         events{send_everything, run_posted, respond, half_close, retire} + streamed + events{tick, block, unblock}},
    };
}

}  // namespace keel::explore_http
