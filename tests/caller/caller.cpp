#include "caller.hpp"

#include <algorithm>
#include <cstdio>

namespace keel::caller {

namespace {

std::string text(const json::value& v) { return std::string(v.if_string().value_or("")); }

/// The names are those of error_kind: "timed out" becomes timed_out.
std::string kind_name(error_kind kind) {
    if (kind == error_kind::closed) return "closed";
    std::string name(name_of(kind));
    std::replace(name.begin(), name.end(), ' ', '_');
    return name;
}

json::value show_failure(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const error& e) {
        return json::object({{"kind", kind_name(e.kind())},
                             {"code", e.code()},
                             {"message", e.what()},
                             {"http_status", e.http_status()}});
    } catch (const cancelled&) {
        return json::object({{"kind", "cancelled"}, {"message", "the task was cancelled"}});
    } catch (const std::exception& e) {  // unexpected
        return json::object({{"kind", "exception"}, {"message", e.what()}});
    }
}

task<json::value> connect(client& c) {
    co_await c.connect();
    server_facts facts = c.server();
    json::value shown = json::object({{"version", facts.protocol_version}, {"modern", facts.modern}});
    shown.set("name", facts.about.name);
    co_return shown;
}

task<json::value> close(client& c) {
    co_await c.close();
    co_return json::value();
}

task<json::value> take_next(std::shared_ptr<subscription> s) {
    std::optional<change> found = co_await s->next();
    if (!found) {
        const char* how = s->how_ended() == subscription_end::ended ? "ended" : "lost";
        co_return json::object({{"over", how}, {"why", s->why_lost()}});
    }
    co_return json::object({{"what", static_cast<int>(found->what)}, {"uri", found->uri}});
}

}  // namespace

void say(const json::value& what) {
    // Callbacks of clients run on the clients' threads.
    static std::mutex one_line_at_a_time;
    std::string line = json::to_string(what) + "\n";
    std::lock_guard lock(one_line_at_a_time);
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
}

caller::~caller() {
    for (std::thread& t : droppers_) t.join();
}

client& caller::named(const json::value& command) {
    auto found = clients_.find(text(command["as"]));
    if (found == clients_.end()) throw std::invalid_argument("no such client: " + text(command["as"]));
    return *found->second;
}

void caller::obey(const json::value& command) {
    std::int64_t n = command["n"].if_int().value_or(0);
    std::string_view what = command["do"].if_string().value_or("");
    try {
        if (what == "open") open(command, n);
        else if (what == "connect") start(n, connect(named(command)), std::make_shared<running>());
        else if (what == "close") start(n, close(named(command)), std::make_shared<running>());
        else if (what == "call") call(command, n);
        else if (what == "subscribe") subscribe(command, n);
        else if (what == "next") next(command, n);
        else if (what == "unsubscribe") {
            subscriptions_.erase(text(command["sub"]));
            say(json::object({{"n", n}, {"kind", "result"}}));
        } else if (what == "cancel") cancel(command, n);
        else if (what == "drop") drop(command, n);
        else if (what == "census") say(json::object({{"n", n}, {"kind", "result"}, {"result", census()}}));
        else throw std::invalid_argument("no such command: " + std::string(what));
    } catch (const std::exception&) {
        // The outcome of a call that failed before it started.
        json::value shown = show_failure(std::current_exception());
        shown.set("n", n);
        say(shown);
    }
}

void caller::open(const json::value& command, std::int64_t n) {
    std::string name = text(command["as"]);
    server_target where = read_target(command["target"]);
    client_options options = read_options(command["options"], name);
    bool shared = command["options"]["shared_loop"].if_bool().value_or(false);
    auto made = shared ? std::make_unique<client>(loop_, std::move(where), std::move(options))
                       : std::make_unique<client>(std::move(where), std::move(options));
    client& c = *clients_.insert_or_assign(name, std::move(made)).first->second;
    start(n, connect(c), std::make_shared<running>());
}

void caller::call(const json::value& command, std::int64_t n) {
    auto record = std::make_shared<running>();
    call_options how = read_call_options(command, record->stop.get_token());
    start(n, make_call(named(command), text(command["what"]), command["args"], std::move(how)), record);
}

namespace {

task<json::value> keep_subscription(task<subscription> asked, std::shared_ptr<subscription> into) {
    *into = co_await std::move(asked);
    subscription_request agreed = into->agreed();
    co_return json::object({{"tools", agreed.tools}, {"resources", agreed.resources}, {"uris", agreed.uris.size()}});
}

}  // namespace

void caller::subscribe(const json::value& command, std::int64_t n) {
    subscription_request what;
    what.tools = command["tools"].if_bool().value_or(false);
    for (const json::value& uri : command["uris"].items()) what.uris.push_back(text(uri));
    auto kept = std::make_shared<subscription>();
    subscriptions_[text(command["sub"])] = kept;
    start(n, keep_subscription(named(command).subscribe(std::move(what)), kept), std::make_shared<running>());
}

void caller::next(const json::value& command, std::int64_t n) {
    auto found = subscriptions_.find(text(command["sub"]));
    if (found == subscriptions_.end()) throw std::invalid_argument("no such subscription");
    start(n, take_next(found->second), std::make_shared<running>());
}

void caller::cancel(const json::value& command, std::int64_t n) {
    auto found = running_.find(command["call"].if_int().value_or(0));
    bool there = found != running_.end();
    if (there) {
        std::shared_ptr<running> record = found->second;  // the call may end at once
        if (text(command["how"]) == "task") record->line->stop();
        else record->stop.request_stop();
    }
    say(json::object({{"n", n}, {"kind", "result"}, {"result", there}}));
}

void caller::drop(const json::value& command, std::int64_t n) {
    auto found = clients_.find(text(command["as"]));
    if (found == clients_.end()) throw std::invalid_argument("no such client: " + text(command["as"]));
    // The destructor of a client with its own thread waits, which must not delay other commands.
    auto gone = std::shared_ptr<client>(std::move(found->second));
    clients_.erase(found);
    droppers_.emplace_back([this, gone = std::move(gone), n]() mutable {
        gone.reset();
        loop_->post([this, n, id = std::this_thread::get_id()] {
            auto at = std::find_if(droppers_.begin(), droppers_.end(), [&](auto& t) { return t.get_id() == id; });
            at->join();
            droppers_.erase(at);
            say(json::object({{"n", n}, {"kind", "result"}}));
            stop_if_idle();
        });
    });
}

void caller::start(std::int64_t n, task<json::value> work, const std::shared_ptr<running>& record) {
    running_[n] = record;
    record->line.emplace(*loop_);
    // In a separate turn: a call that fails at once is reported after the command that started it.
    auto held = std::make_shared<task<json::value>>(std::move(work));
    loop_->post([this, n, record, held] {
        detail::start(*record->line, std::move(*held), [this, n, record](detail::outcome<json::value> result) {
            if (result.index() == 0) tell(n, *record, std::get<0>(result), {});
            else tell(n, *record, nullptr, std::get<1>(std::move(result)));
        });
    });
}

void caller::tell(std::int64_t n, running& record, const std::exception_ptr& failure, json::value result) {
    if (record.ended) {
        broken_ = true;
        say(json::object({{"event", "twice"}, {"n", n}}));
        return;
    }
    record.ended = true;
    json::value shown = failure ? show_failure(failure) : json::object({{"kind", "result"}});
    if (!failure) shown.set("result", std::move(result));
    shown.set("n", n);
    say(shown);
    running_.erase(n);
    stop_if_idle();
}

void caller::end() {
    subscriptions_.clear();
    clients_.clear();
    ending_ = true;
    stop_if_idle();
}

void caller::stop_if_idle() {
    if (ending_ && running_.empty() && droppers_.empty()) loop_->stop();
}

}  // namespace keel::caller
