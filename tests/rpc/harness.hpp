#pragma once

// Runs one peer_core the way the driver does, with everything under the control of the test: a clock that moves only
// with advance, a writer that accepts as many bytes as it is told to, handlers that run until the test finishes them.
//
// Events are recorded in two lists. `log` has the actions in order, one readable line each; `tap` has every frame that
// was written completely. Its destructor checks the recorded messages (at most one answer per request, nothing about a
// request after its answer or its cancel) and that nothing is left over.

#include "rpc/byte_stream_sink.hpp"
#include "rpc/peer_core.hpp"
#include "support/heap.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Makes a failing comparison print the frames.
template <>
struct doctest::StringMaker<std::vector<std::string>> {
    static doctest::String convert(const std::vector<std::string>& all) {
        std::string out;
        for (const std::string& each : all) out += "\n    " + each;
        return out.c_str();
    }
};

namespace keel::rpc::test {

using namespace std::chrono_literals;

using lines = std::vector<std::string>;

using keel::test::heap_in_use;

inline std::string show(const request_id& id) {
    std::string out;
    id.write(out);
    return out;
}

/// A request as a peer writes it. `id` is JSON text.
inline std::string request_line(std::string_view id, std::string_view method = "work", std::string_view params = "") {
    std::string out = R"({"jsonrpc":"2.0","id":)";
    out += id;
    out += R"(,"method":")";
    out += method;
    out += '"';
    if (!params.empty()) out += R"(,"params":)" + std::string(params);
    return out + "}";
}

inline std::string cancel_line(std::string_view id, std::string_view reason = "") {
    std::string out = R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + std::string(id);
    if (!reason.empty()) out += R"(,"reason":")" + std::string(reason) + '"';
    return out + "}}";
}

inline std::string result_line(std::string_view id, std::string_view result = "{}") {
    return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":)" + std::string(result) + "}";
}

inline std::string error_line(std::string_view id, int code, std::string_view message) {
    std::string out = R"({"jsonrpc":"2.0")";
    if (!id.empty()) out += R"(,"id":)" + std::string(id);
    return out + R"(,"error":{"code":)" + std::to_string(code) + R"(,"message":")" + std::string(message) + "\"}}";
}

inline std::string progress_line(std::string_view token, std::string_view progress) {
    return R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" + std::string(token) +
           R"(,"progress":)" + std::string(progress) + "}}";
}

inline std::string with_token(std::string_view token) {
    return R"({"_meta":{"progressToken":)" + std::string(token) + "}}";
}

inline limits limits_with(void (*change)(limits&)) {
    limits l;
    change(l);
    return l;
}

class harness {
public:
    explicit harness(role r = role::server, const limits& bounds = {})
        : budget(std::make_shared<flight_budget>()), sink(r, bounds), core(r, bounds, sink, budget),
          now_(time_point(1000s)) {
        core.set_now(now_);
    }
    harness(const harness&) = delete;
    harness& operator=(const harness&) = delete;
    ~harness() {
        if (std::uncaught_exceptions() == 0) check_census();
    }

    std::shared_ptr<flight_budget> budget;
    byte_stream_sink sink;
    peer_core core;
    lines log;
    lines tap;
    bool quiet = false;        // for millions of messages: only counts, no lists, no checks of messages
    bool hold_starts = false;  // handlers do not begin before release_starts (the gate before_start)
    std::size_t started = 0;
    std::size_t fired = 0;
    std::size_t delivered = 0;
    std::size_t reports = 0;
    std::size_t written_frames = 0;
    std::size_t closed_reports = 0;

    // ---- events ----

    void feed(std::string_view line) {
        note_line(line);
        core.on_line(line);
        turn();
    }
    void remainder(std::string_view text) {
        note_line(text);
        core.on_remainder(text);
        turn();
    }
    void too_large(std::string_view beginning) {
        if (!quiet) ++seen_[show(read_truncated(beginning).id)];
        core.on_too_large(beginning);
        turn();
    }
    void eof() { core.on_input_end(), turn(); }
    void read_error(std::string_view cause = "ECONNRESET") { core.on_failure(cause), turn(); }
    void write_error(std::string_view cause = "EPIPE") { core.on_failure(cause), turn(); }
    void close(duration drain = {}, serial from = 0) { core.close(drain, from), turn(); }

    /// Advances the clock and runs every deadline on the way.
    void advance(duration d) {
        time_point until = now_ + d;
        for (auto next = core.next_deadline(); next && *next <= until; next = core.next_deadline()) {
            REQUIRE(++idle_turns_ < 1'000'000);  // a deadline that stays in the past would loop forever
            now_ = std::max(now_, *next);
            core.set_now(now_);
            core.on_time();
            turn();
        }
        idle_turns_ = 0;
        now_ = until;
        core.set_now(now_);
        turn();
    }

    /// Feeds a request. Returns its serial if a handler was started (or is held), otherwise 0.
    serial request(std::string_view id, std::string_view method = "work", std::string_view params = "") {
        last_started_ = 0;
        feed(request_line(id, method, params));
        return last_started_;
    }
    void cancel(std::string_view id, std::string_view reason = "") { feed(cancel_line(id, reason)); }

    // ---- the writer ----

    void stall() { room_ = 0; }
    void resume() {
        room_ = unlimited;
        turn();
    }
    /// Accepts `n` more bytes, then stalls.
    void accept(std::size_t n) {
        room_ = n;
        turn();
    }
    /// The write that would exceed `n` more bytes fails.
    void fail_write_after(std::size_t n, std::string cause = "EPIPE") {
        fail_after_ = n;
        fail_cause_ = std::move(cause);
        turn();
    }

    void on_written(std::size_t n) {
        sink.on_written(n, now_);
        core.on_drained();
    }

    // ---- handlers ----

    void finish(serial request, std::string_view result = "{}") {
        ended(request);
        core.finish(request, result);
        turn();
    }
    void fail(serial request, int code = error_code::internal, std::string message = "internal error",
              json::value data = {}) {
        ended(request);
        core.finish(request, failure{code, std::move(message), std::move(data)});
        turn();
    }
    /// The handler was cancelled and ended.
    void end_quietly(serial request) {
        ended(request);
        core.finish_silently(request);
        turn();
    }
    void progress(serial request, double p, std::optional<double> total = {}, std::string_view message = "") {
        core.send_progress(request, p, total, message);
        turn();
    }
    void say(serial request, std::string_view text, bool droppable = true) {
        core.send_scoped(request, "notifications/message", R"({"data":")" + std::string(text) + "\"}", droppable);
        turn();
    }
    serial call(std::string_view method = "ask", serial parent = 0,
                const call_options& options = {.idle = {}, .total = {}, .want_progress = false},
                json::value params = {}) {
        serial c = core.call(parent, method, std::move(params), options, refused);
        turn();
        return c;
    }
    call_outcome refused;  // why the last call was rejected
    void abandon(serial call, std::string_view reason = "") { core.abandon(call, reason), turn(); }
    bool notify(std::string_view method, std::string_view params = "") {
        bool taken = core.notify(method, params);
        turn();
        return taken;
    }
    void shield(serial request) {
        shielded_[request] = true;
        core.shield(request);
    }

    /// Starts the handlers that were held. Those that `begin` rejects are not started.
    void release_starts() {
        hold_starts = false;
        for (held& h : std::exchange(held_, {})) begin(h.request, h.method);
        turn();
    }

    const std::map<serial, std::string>& running() const { return running_; }
    std::vector<serial> running_serials() const {
        std::vector<serial> all;
        for (const auto& [request, id] : running_) all.push_back(request);
        return all;
    }
    std::size_t invocations() const { return invocations_; }
    time_point now() const { return now_; }

    lines take_log() { return std::exchange(log, {}); }
    lines take_tap() { return std::exchange(tap, {}); }
    bool logged(std::string_view entry) const { return std::find(log.begin(), log.end(), entry) != log.end(); }
    /// Answers (results and errors) to `id` that were written.
    std::size_t answers_to(std::string_view id) const {
        auto at = answered_.find(std::string(id));
        return at == answered_.end() ? 0 : at->second;
    }

    /// Checks that nothing is left: no handler, waiter, queued byte, timer or reserved capacity.
    void check_census() {
        // Abandoned handlers end now; their output is dropped.
        if (core.closed()) {
            std::size_t before = tap.size();
            for (serial request : running_serials()) finish(request, R"({"late":true})");
            CHECK(tap.size() == before);
        }
        CHECK(running_.empty());
        CHECK(core.running() == 0);
        CHECK(core.waiting() == 0);
        CHECK(core.queued_bytes() == 0);
        CHECK(budget->used == 0);
        CHECK(!core.next_deadline());
        CHECK(!core.has_actions());
        CHECK(closed_reports == (core.closed() ? 1 : 0));
        for (const std::string& problem : ledger_) FAIL_CHECK(problem);
        ledger_.clear();
    }

private:
    static constexpr std::size_t unlimited = static_cast<std::size_t>(-1);

    struct held {
        serial request;
        std::string method;
    };
    struct scope {  // messages about one request, for the checks
        bool answered = false;
        std::optional<std::size_t> cancelled_at;  // offset in the stream of written bytes
    };

    // Runs actions and writes, again as long as that causes more, like the driver.
    void turn() {
        do {
            carry_out();
            flush();
            sink.flush(now_);
        } while (core.has_actions());
    }

    void carry_out() {
        while (core.has_actions()) {
            core.take_actions(batch_);
            auto actions = std::move(batch_);
            for (action& a : actions) std::visit([this](auto& each) { carry_out(each); }, a);
            actions.clear();
            batch_ = std::move(actions);
        }
    }
    void carry_out(start_handler& a) {
        ++started;
        last_started_ = a.request;
        if (!quiet) {
            ids_[a.request] = take_id(a.method);
            if (a.params) {
                const json::value& token = (*a.params)["_meta"]["progressToken"];
                if (!token.is_null()) tokens_[json::to_string(token)] = a.request;
            }
        }
        if (hold_starts) {
            held_.push_back({a.request, std::string(a.method)});
        } else {
            begin(a.request, a.method);
        }
    }
    void begin(serial request, std::string_view method) {
        if (!core.begin(request)) return;
        ++invocations_;
        running_[request] = quiet ? std::string() : ids_[request];
        if (!quiet) log.push_back("start " + ids_[request] + " " + std::string(method));
    }
    void carry_out(fire_token& a) {
        ++fired;
        if (quiet) return;
        const char* cause = a.cause == stop_cause::peer     ? "peer"
                            : a.cause == stop_cause::closed ? "closed"
                                                            : "shutdown";
        log.push_back("fire " + ids_[a.request] + " " + cause + (a.reason.empty() ? "" : ": " + a.reason));
    }
    void carry_out(deliver& a) {
        ++delivered;
        if (quiet) return;
        std::string entry = "deliver " + std::to_string(a.call) + " ";
        if (a.outcome.result) {
            entry += json::to_string(*a.outcome.result);
        } else {
            entry += a.outcome.kind == error_kind::closed ? "closed" : std::string(name_of(a.outcome.kind));
            if (a.outcome.kind == error_kind::rejected) entry += " " + std::to_string(a.outcome.error.code);
            entry += ": " + a.outcome.error.message;
        }
        log.push_back(std::move(entry));
    }
    void carry_out(deliver_progress& a) {
        if (!quiet)
            log.push_back("progress " + std::to_string(a.call) + " " + json::to_string((*a.params)["progress"]));
    }
    void carry_out(deliver_notification& a) {
        if (!quiet) log.push_back("notification " + std::string(a.method));
    }
    void carry_out(report& a) {
        ++reports;
        if (!quiet) log.push_back("report " + a.text);
    }
    void carry_out(connection_closed& a) {
        ++closed_reports;
        log.push_back("closed" + (a.cause.empty() ? "" : ": " + a.cause) +
                      (a.abandoned ? ", " + std::to_string(a.abandoned) + " abandoned" : ""));
    }

    void flush() {
        while (true) {
            std::string_view pending = sink.pending();
            if (pending.empty()) return;
            std::size_t n = std::min(pending.size(), room_);
            if (fail_after_ && n > *fail_after_) {
                if (*fail_after_ > 0) take(std::exchange(*fail_after_, 0));
                fail_after_.reset();
                core.on_failure(fail_cause_);
                return;
            }
            if (n == 0) return;
            if (fail_after_) *fail_after_ -= n;
            if (room_ != unlimited) room_ -= n;
            const std::size_t before = pending.size();
            take(n);
            if (sink.pending().size() == before) {
                ledger_.push_back("output is offered on a dead stream");
                return;
            }
        }
    }

    void take(std::size_t n) {
        std::string_view taken = sink.pending().substr(0, n);
        while (!taken.empty()) {
            if (partial_.empty()) frame_began_ = bytes_;
            std::size_t newline = taken.find('\n');
            std::size_t length = newline == std::string_view::npos ? taken.size() : newline + 1;
            partial_ += taken.substr(0, length);
            bytes_ += length;
            taken.remove_prefix(length);
            if (newline != std::string_view::npos) {
                partial_.pop_back();
                on_frame(partial_);
                partial_.clear();
            }
        }
        on_written(n);
    }

    // ---- checks of messages ----

    void on_frame(const std::string& text) {
        ++written_frames;
        if (quiet) return;
        tap.push_back(text);
        const json::value* v = frame_.read(text);
        if (!v) return ledger_.push_back("not a whole message: " + text);
        if (v->is_array()) {
            for (const json::value& each : v->items()) note_frame(each, text);
        } else {
            note_frame(*v, text);
        }
    }

    void note_frame(const json::value& v, const std::string& text) {
        message m = classify(v);
        if (m.kind == message_kind::response && m.id.present()) {
            std::string id = show(m.id);
            if (++answered_[id] > seen_[id]) ledger_.push_back("more answers than requests: " + text);
            // The answer belongs to a request of that id that was not cancelled before the frame began.
            bool cancelled = false;
            bool found = false;
            for (serial request : by_id_[id]) {
                scope& s = scopes_[request];
                if (s.answered) continue;
                if (s.cancelled_at && *s.cancelled_at <= frame_began_) {
                    cancelled = true;
                    continue;
                }
                s.answered = found = true;
                break;
            }
            if (cancelled && !found) ledger_.push_back("an answer after the cancel: " + text);
        } else if (m.kind == message_kind::notification && m.method == "notifications/progress") {
            auto owner = tokens_.find(json::to_string((*m.params)["progressToken"]));
            if (owner == tokens_.end()) return ledger_.push_back("progress nobody asked for: " + text);
            const scope& s = scopes_[owner->second];
            if (s.answered) ledger_.push_back("progress after the answer: " + text);
            if (s.cancelled_at && *s.cancelled_at <= frame_began_)
                ledger_.push_back("progress after the cancel: " + text);
        }
    }

    void note_line(std::string_view line) {
        if (quiet || !core.wants_input()) return;
        incoming_.clear();
        const json::value* v = line_.read(line);
        if (!v) return;
        if (v->is_array()) {
            for (const json::value& each : v->items()) note_message(each);
        } else {
            note_message(*v);
        }
    }

    void note_message(const json::value& v) {
        message m = classify(v);
        if (m.kind == message_kind::request || m.kind == message_kind::invalid) {
            ++seen_[show(m.id)];
            if (m.kind == message_kind::request) incoming_.push_back({std::string(m.method), show(m.id)});
        } else if (m.method == "notifications/cancelled" && m.params && m.params->is_object()) {
            request_id named = request_id::from((*m.params)["requestId"]);
            if (!named.present()) return;
            std::string id = show(named);
            // It names the open request with that id, which is the newest.
            auto at = by_id_.find(id);
            if (at == by_id_.end()) return;
            scope& s = scopes_[at->second.back()];
            if (!shielded_[at->second.back()] && !s.cancelled_at) s.cancelled_at = bytes_;
        }
    }

    std::string take_id(std::string_view method) {
        for (auto at = incoming_.begin(); at != incoming_.end(); ++at) {
            if (at->first != method) continue;
            std::string id = at->second;
            incoming_.erase(at);
            by_id_[id].push_back(last_started_);
            return id;
        }
        return "?";
    }

    void ended(serial request) { running_.erase(request); }

    time_point now_;
    std::size_t room_ = unlimited;
    std::optional<std::size_t> fail_after_;
    std::string fail_cause_;
    std::size_t bytes_ = 0;        // accepted by the writer
    std::size_t frame_began_ = 0;  // offset of the frame that is being written
    std::string partial_;
    std::size_t idle_turns_ = 0;

    serial last_started_ = 0;
    std::size_t invocations_ = 0;
    std::vector<held> held_;
    std::map<serial, std::string> running_;  // handlers, with the id of their request
    std::vector<action> batch_;

    json::document line_;
    json::document frame_;
    std::vector<std::pair<std::string, std::string>> incoming_;  // method and id of the requests in the line being read
    std::map<serial, std::string> ids_;
    std::map<serial, bool> shielded_;
    std::map<std::string, serial> tokens_;
    std::map<serial, scope> scopes_;
    std::map<std::string, std::vector<serial>> by_id_;  // requests of one id, oldest first
    std::map<std::string, std::size_t> seen_;
    std::map<std::string, std::size_t> answered_;
    lines ledger_;
};

}  // namespace keel::rpc::test
