// Calls that wait until another call releases them.

#include "board.hpp"
#include "subject.hpp"

#include <keel/server.hpp>

#include <fstream>
#include <string>

namespace keel::subject {

struct park_args {
    std::string key;
    bool slow_cleanup = false;
    bool stubborn = false;
    std::string note;
};
KEEL_DESCRIBE(park_args, key, (slow_cleanup, "After a cancellation, wait for clean_up", keel::defaulted),
              (stubborn, "After a cancellation, wait for release all the same", keel::defaulted),
              (note, "After a cancellation, create this file when it has cleaned up", keel::defaulted))

struct block_args {
    std::string key;
};
KEEL_DESCRIBE(block_args, key)

enum class question { elicit, sample, roots };
KEEL_DESCRIBE_ENUM(question, elicit, sample, roots)

struct ask_args {
    std::string key;
    question what = question::elicit;
};
KEEL_DESCRIBE(ask_args, key, (what, keel::defaulted))

struct word {
    std::string word;
};
KEEL_DESCRIBE(word, word)

namespace {

void note_cancelled(record& r, context& ctx) {
    r.set_reason(ctx.reason());
    r.cancelled.raise();
}

task<std::string> park(context& ctx, park_args in) {
    std::shared_ptr<record> r = ctx.state<board>().at(in.key);
    detail::activity& here = co_await detail::this_activity{};
    record::presence running(*r, ctx, &here.loop());
    bool was_cancelled = false;
    try {
        co_await r->go.wait();
    } catch (const cancelled&) {
        was_cancelled = true;
    }
    if (!was_cancelled) co_return r->value();
    note_cancelled(*r, ctx);
    if (in.slow_cleanup) co_await r->clean_up.wait();
    if (in.stubborn) {
        co_await r->go.wait();
        co_return r->value();
    }
    if (!in.note.empty()) {
        co_await ctx.yield();  // cleanup may wait
        std::ofstream(in.note) << "cleaned up\n";
    }
    r->cleaned_up.raise();
    throw cancelled();
}

// Blocks a worker thread.
std::string block(context& ctx, block_args in) {
    std::shared_ptr<record> r = ctx.state<board>().at(in.key);
    record::presence running(*r, ctx, nullptr);
    std::stop_callback watch(ctx.stop_token(), [&] { note_cancelled(*r, ctx); });
    r->go.block();
    return r->value();
}

task<std::string> put(context& ctx, question what) {
    if (what == question::sample) {
        sampling_request request("Say a word", 10);
        sampling_result answer = co_await ctx.sample("word", request);
        co_return answer.text();
    }
    if (what == question::roots) {
        std::vector<root> roots = co_await ctx.list_roots();
        co_return std::to_string(roots.size());
    }
    elicited<word> answer = co_await ctx.elicit<word>("word", "Which word?");
    co_return answer ? answer->word : answer.action == elicit_action::decline ? "declined" : "cancelled";
}

// Sends a request to the client during the call. The outcome is also part of the status, for a client that does not get
// the answer.
task<tool_result> ask(context& ctx, ask_args in) {
    std::shared_ptr<record> r = ctx.state<board>().at(in.key);
    detail::activity& here = co_await detail::this_activity{};
    record::presence running(*r, ctx, &here.loop());
    std::string problem;
    try {
        std::string said = co_await put(ctx, in.what);
        r->set_value(said);
        co_return tool_result(std::move(said));
    } catch (const error& e) {
        problem = std::string(name_of(e.kind())) + ": " + e.what();
    } catch (const cancelled&) {
        note_cancelled(*r, ctx);
        throw;
    }
    r->set_value(problem);
    co_return tool_result::failure(std::move(problem));
}

}  // namespace

void add_parked(server& s) {
    s.add_tool("park", "Waits until it is released", &park);
    s.add_tool("block", "Keeps a worker thread until it is released", &block);
    s.add_tool("ask", "Asks the client for a word", &ask);
}

}  // namespace keel::subject
