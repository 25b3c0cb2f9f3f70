// Tools with which a test controls parked calls.

#include "board.hpp"
#include "subject.hpp"

#include <keel/server.hpp>

#include <string>

namespace keel::subject {

struct key_args {
    std::string key;
};
KEEL_DESCRIBE(key_args, key)

struct release_args {
    std::string key;
    std::string value;
};
KEEL_DESCRIBE(release_args, key, (value, keel::defaulted))

enum class saying { progress, log };
KEEL_DESCRIBE_ENUM(saying, progress, log)

struct emit_args {
    std::string key;
    std::uint32_t n = 1;
    saying kind = saying::progress;
    std::uint32_t bytes = 0;
};
KEEL_DESCRIBE(emit_args, key, (n, keel::defaulted), (kind, keel::defaulted),
              (bytes, "So much is added to each message", keel::defaulted))

struct let_go_args {
    std::string key;
    std::uint32_t retry = 0;
};
KEEL_DESCRIBE(let_go_args, key, (retry, "When the client should come back, in milliseconds"))

struct wait_args {
    std::string key;
    std::string what;
};
KEEL_DESCRIBE(wait_args, key, (what, "begun, cancelled, cleaned_up or finished"))

struct call_status {
    bool begun = false;
    bool cancelled = false;
    std::string reason;
    bool cleaned_up = false;
    bool finished = false;
    std::string value;
    std::uint64_t runs = 0;
    std::uint64_t sent = 0;
};
KEEL_DESCRIBE(call_status, begun, cancelled, reason, cleaned_up, finished, value, runs, sent)

namespace {

call_status status_of(record& r) {
    call_status s;
    s.begun = r.begun.raised();
    s.cancelled = r.cancelled.raised();
    s.reason = r.reason();
    s.cleaned_up = r.cleaned_up.raised();
    s.finished = r.finished.raised();
    s.value = r.value();
    s.runs = r.runs();
    s.sent = r.sent();
    return s;
}

void say(record& r, context& ctx, const emit_args& what) {
    for (std::uint32_t i = 0; i < what.n; ++i) {
        std::size_t number = r.next_number();
        if (what.kind == saying::progress) {
            ctx.progress(static_cast<double>(number), {}, std::string(what.bytes, 'x'));
        } else {
            json::value data = json::object({{"n", number}});
            if (what.bytes) data.set("text", std::string(what.bytes, 'x'));
            ctx.log(log_level::info, std::move(data), "subject");
        }
    }
}

// Answers after the call has sent its messages.
task<std::uint64_t> emit(context& ctx, emit_args in) {
    std::shared_ptr<record> r = ctx.state<board>().at(in.key);
    auto said = std::make_shared<flag>();
    bool there = r->with_context([r, in, said](context& call) {
        say(*r, call, in);
        said->raise();
    });
    if (!there) throw tool_failure("no call has begun with the key " + in.key);
    co_await said->wait();
    co_return r->sent();
}

// Answers after the call has released its stream.
task<std::string> let_go(context& ctx, let_go_args in) {
    std::shared_ptr<record> r = ctx.state<board>().at(in.key);
    auto done = std::make_shared<flag>();
    bool there = r->with_context([in, done](context& call) {
        call.release_stream(std::chrono::milliseconds(in.retry));
        done->raise();
    });
    if (!there) throw tool_failure("no call has begun with the key " + in.key);
    co_await done->wait();
    co_return "let go";
}

task<call_status> wait_status(context& ctx, wait_args in) {
    std::shared_ptr<record> r = ctx.state<board>().at(in.key);
    flag* what = r->find(in.what);
    if (!what) throw tool_failure("nothing called " + in.what + " happens to a call");
    co_await what->wait();
    co_return status_of(*r);
}

}  // namespace

void add_control(server& s) {
    s.add_tool("release", "Lets a parked call answer with this value",
               [](context& ctx, release_args in) {
                   std::shared_ptr<record> r = ctx.state<board>().at(in.key);
                   r->set_value(in.value);
                   r->go.raise();
                   return "released";
               },
               {.quick = true});
    s.add_tool("clean_up", "Lets the cleanup of a cancelled call go on",
               [](context& ctx, key_args in) {
                   ctx.state<board>().at(in.key)->clean_up.raise();
                   return "cleaning up";
               },
               {.quick = true});
    s.add_tool("status", "What has happened to a call",
               [](context& ctx, key_args in) { return status_of(*ctx.state<board>().at(in.key)); }, {.quick = true});
    s.add_tool("forget", "The key is free again",
               [](context& ctx, key_args in) {
                   ctx.state<board>().forget(in.key);
                   return "forgotten";
               },
               {.quick = true});
    s.add_tool("emit", "Makes a running call send messages now; gives the number of the last", &emit);
    s.add_tool("let_go", "Makes a running call let go of its stream: the client comes back for it", &let_go);
    s.add_tool("wait_status", "Answers when that has happened to a call", &wait_status);
}

}  // namespace keel::subject
