// A client with an arbitrary server: each call ends exactly once, and nothing leaks.
//
// The first byte selects the revision, the second the call. Then lines: a line that begins with '{' is sent unchanged,
// '<' ends the input, '.' advances the clock by a minute, anything else is sent as the result of the last request.

#include "client/link.hpp"
#include "rpc/connection_io.hpp"
#include "support/manual_loop.hpp"
#include "support/scripted_connection.hpp"

#include <keel/client.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace keel;
using namespace std::chrono_literals;

void require(bool holds) {
    if (!holds) std::abort();
}

struct typed {
    int n = 0;
    std::vector<std::string> words;
};
KEEL_DESCRIBE(typed, n, words)

class script_link final : public client_side::link {
public:
    explicit script_link(std::unique_ptr<connection> wire) noexcept : wire_(std::move(wire)) {}
    std::shared_ptr<rpc::peer> open(std::shared_ptr<loop> on, const limits& bounds,
                                    client_side::link_user& user) override {
        auto p = rpc::make_connection_peer(std::move(on), std::move(wire_), rpc::role::client, bounds, nullptr, user);
        p->start();
        return p;
    }

private:
    std::unique_ptr<connection> wire_;
};

struct script_connector final : client_side::connector {
    explicit script_connector(std::shared_ptr<test::manual_loop> l) : on(std::move(l)) {}
    task<std::unique_ptr<client_side::link>> connect(std::shared_ptr<loop>, client_side::link_settings) override {
        wire = std::make_shared<test::script>(on);
        co_return std::make_unique<script_link>(wire->open());
    }
    std::string describe() const override { return "a script"; }
    std::string identity() const override { return "script"; }

    std::shared_ptr<test::manual_loop> on;
    std::shared_ptr<test::script> wire;
};

/// Wraps a task to count its end.
template <class T>
struct run {
    run(test::manual_loop& l, task<T> work) : line(l) {
        l.post([this, held = std::make_shared<task<T>>(std::move(work))] {
            detail::start(line, std::move(*held), [this](detail::outcome<T> o) {
                ++ends;
                if (o.index() == 1) {
                    if constexpr (!std::is_void_v<T>) value.emplace(std::move(std::get<1>(o)));
                }
            });
        });
        l.run();
    }
    detail::activity line;
    int ends = 0;
    std::optional<std::conditional_t<std::is_void_v<T>, int, T>> value;
};

class conversation {
public:
    conversation(bool modern, std::string_view version) : modern_(modern), version_(version) {
        client_options options;
        options.about = {.name = "fuzz", .version = "1"};
        options.mode = modern ? protocol_mode::modern : protocol_mode::legacy;
        options.version = version;
        options.limits.request_idle = 30s;
        options.limits.request_total = 2min;
        options.max_pages = 4;
        options.max_rounds = 4;
        options.roots = std::vector<root>{{.uri = "file:///a", .name = "a"}};
        options.on_form = [](form_question) -> task<form_answer> { co_return form_answer(elicit_action::decline); };
        options.on_sampling = [](sampling_request) -> task<sampling_result> { co_return sampling_result(); };
        options.on_list_changed = [](list_kind) {};
        options.on_log = [](const server_log&) {};
        user_.emplace(loop_, server_target(connector_), std::move(options));
    }

    void play(std::string_view call, std::string_view lines) {
        run<void> connect(*loop_, user_->connect());
        open();
        require(connect.ends == 1 && user_->connected());
        if (call == "list_tools") talk(user_->list_tools(), lines);
        else if (call == "call_tool") talk(user_->call_tool("x"), lines);
        else if (call == "typed") talk(user_->call_tool<typed>("x", json::value()), lines);
        else if (call == "list_resources") talk(user_->list_resources(), lines);
        else if (call == "templates") talk(user_->list_resource_templates(), lines);
        else if (call == "read") talk(user_->read_resource("a://b"), lines);
        else if (call == "list_prompts") talk(user_->list_prompts(), lines);
        else if (call == "prompt") talk(user_->get_prompt("p"), lines);
        else if (call == "complete") talk(user_->complete_prompt("p", "a", "v"), lines);
        else if (call == "subscribe") talk(user_->subscribe(everything()), lines);
        else if (call == "once") talk(user_->request_once("tools/call", json::object({{"name", "x"}})), lines);
        else talk(user_->ping(), lines);
    }

    void finish() {
        run<void> closed(*loop_, user_->close());
        loop_->advance(1min);
        require(closed.ends == 1);
        user_.reset();
        loop_->advance(1s);
        require(loop_->ready() == 0 && loop_->timers() == 0);
    }

private:
    static subscription_request everything() {
        subscription_request all;
        all.tools = all.prompts = all.resources = true;
        all.uris = {"a://b"};
        return all;
    }

    void open() {
        const std::string capabilities =
            R"({"tools":{"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{},)"
            R"("resources":{"subscribe":true,"listChanged":true}})";
        if (modern_) {
            answer(R"({"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],)"
                   R"("capabilities":)" +
                   capabilities + "}");
        } else {
            answer(R"({"protocolVersion":")" + version_ + R"(","capabilities":)" + capabilities +
                   R"(,"serverInfo":{"name":"s","version":"1"}})");
        }
    }

    template <class T>
    void talk(task<T> call, std::string_view lines) {
        run<T> here(*loop_, std::move(call));
        while (!lines.empty()) {
            const std::size_t end = std::min(lines.find('\n'), lines.size());
            const std::string_view line = lines.substr(0, end);
            lines.remove_prefix(std::min(end + 1, lines.size()));
            if (line.starts_with('{')) say(std::string(line));
            else if (line == "<") connector_->wire->eof();
            else if (line == ".") loop_->advance(1min);
            else answer(line);
            loop_->run();
        }
        // Whatever happened, each call has ended after its timeout, including connecting, pages and rounds.
        loop_->advance(10min);
        require(here.ends == 1);
    }

    void say(std::string line) {
        connector_->wire->feed(std::move(line) + "\n");
        loop_->run();
    }
    /// Responds to the last request.
    void answer(std::string_view result) {
        for (std::string_view rest = written_ += connector_->wire->take_output(); !rest.empty();) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            const json::value m = json::parse(rest.substr(0, end));
            if (m["method"].is_string() && m["id"].if_int()) last_ = *m["id"].if_int();
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        written_.clear();
        say(R"({"jsonrpc":"2.0","id":)" + std::to_string(last_) + R"(,"result":)" + std::string(result) + "}");
    }

    const bool modern_;
    const std::string version_;
    std::shared_ptr<test::manual_loop> loop_ = std::make_shared<test::manual_loop>();
    std::shared_ptr<script_connector> connector_ = std::make_shared<script_connector>(loop_);
    std::optional<client> user_;
    std::string written_;
    std::int64_t last_ = 0;
};

constexpr std::array<std::string_view, 5> revisions = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
                                                       "2026-07-28"};
constexpr std::array<std::string_view, 12> calls = {"list_tools", "call_tool", "typed",  "list_resources",
                                                    "templates",  "read",      "prompt", "list_prompts",
                                                    "complete",   "subscribe", "once",   "ping"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::string_view version = revisions[data[0] % revisions.size()];
    conversation c(version == "2026-07-28", version);
    c.play(calls[data[1] % calls.size()], std::string_view(reinterpret_cast<const char*>(data) + 2, size - 2));
    c.finish();
    return 0;
}
