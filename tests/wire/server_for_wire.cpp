#include "wire/server_for_wire.hpp"

#include <keel/sampling.hpp>

#include <stdexcept>

namespace keel::conversations {

namespace {

struct text_args {
    std::string text;
};
KEEL_DESCRIBE(text_args, text)

struct pair_args {
    int a = 0;
    int b = 0;
};
KEEL_DESCRIBE(pair_args, a, b)

struct sum {
    int total = 0;
};
KEEL_DESCRIBE(sum, total)

enum class seat { window, aisle };
KEEL_DESCRIBE_ENUM(seat, window, aisle)

struct trip {
    std::string city;
    int nights = 1;
    std::optional<seat> where;
};
KEEL_DESCRIBE(trip, (city, "Where to", min_length(1)), (nights, minimum(1), maximum(30)), where)

struct agreement {
    bool sure = false;
};
KEEL_DESCRIBE(agreement, sure)

struct review_args {
    std::string code;
    std::optional<std::string> language;
};
KEEL_DESCRIBE(review_args, (code, "What to look at"), (language, "What it is written in"))

task<std::string> count_to_three(context& ctx) {
    ctx.progress(1, 3.0, "one");
    ctx.progress(2, 3.0);
    ctx.progress(2, 3.0, "not again");
    ctx.progress(3, 3.0, "three");
    co_return "counted";
}

task<std::string> book(context& ctx) {
    elicited<trip> where = co_await ctx.elicit<trip>("trip", "Where would you like to go?");
    if (where.action == elicit_action::decline) co_return "declined";
    if (!where) co_return "cancelled";
    co_return where->city + " for " + std::to_string(where->nights);
}

task<std::string> pay(context& ctx) {
    url_elicited done = co_await ctx.elicit_url("payment", "Please pay there", "https://pay.example.com/7");
    if (!done) co_return "not paid";
    ctx.url_elicitation_complete(done);
    co_return "paid";
}

task<std::string> write_poem(context& ctx) {
    sampling_request question("A poem about keels, please", 100);
    question.system_prompt = "You are a poet";
    question.temperature = 0.5;
    question.stop_sequences = {"END"};
    model_preferences wishes;
    wishes.hints.push_back({.name = "small"});
    wishes.cost_priority = 0.75;
    question.model_preferences = wishes;
    question.include_context = include_context::this_server;
    sampling_result said = co_await ctx.sample("poem", std::move(question));
    co_return said.model + " wrote: " + said.text();
}

task<std::string> use_tools(context& ctx) {
    sampling_request question("What is the weather?", 50);
    sampling_tool weather;
    weather.name = "weather";
    weather.description = "Looks out of the window";
    weather.input_schema = json::parse(R"({"type":"object"})");
    question.tools.push_back(weather);
    question.tool_choice = tool_choice::required;
    sampling_result said = co_await ctx.sample("weather", std::move(question));
    co_return said.stop_reason;
}

task<std::string> folders(context& ctx) {
    std::vector<root> roots = co_await ctx.list_roots();
    std::string all;
    for (const root& each : roots) all += each.uri + " ";
    co_return all;
}

}  // namespace

template <class F>
void server_for_wire::add_tool(std::string name, std::string about, F f, tool_options options) {
    std::string key = name;
    shelf_[key] = [this, name = std::move(name), about = std::move(about), f = std::move(f), options] {
        core->tools.put(std::make_shared<const server_side::tool>(detail::make_tool(name, about, f, options)), false);
    };
}

server_for_wire::server_for_wire(std::size_t page_size)
    : feature_server([page_size] {
          test::server_settings how;
          how.workers = 1;  // so that answers have a fixed order
          how.instructions = "Say hello first";
          how.adjust = [page_size](server_options& o) {
              o.page_size = page_size;
              o.extensions["com.example/thing"] = json::object({{"level", 1}});
              o.cache["tools/list"] = {.ttl = std::chrono::seconds(60), .shared = true};
          };
          return how;
      }()) {
    offer_tools();
    offer_asking_tools();
    offer_the_rest();
}

void server_for_wire::offer_tools() {
    tool_options echo_options;
    echo_options.title = "Echo";
    echo_options.quick = true;
    echo_options.annotations.read_only = true;
    add_tool("echo", "Gives back what it gets", [](text_args in) { return in.text; }, echo_options);
    add_tool("sum", "Adds", [](pair_args in) { return sum{in.a + in.b}; }, {.quick = true});
    add_tool("blocks", "One of each kind",
             [] {
                 content text("hello");
                 annotations notes;
                 notes.audience = {role::user};
                 notes.priority = 0.5;
                 text.with(notes);
                 keel::resource readme;
                 readme.uri = "test://readme";
                 readme.name = "readme";
                 std::vector<content> all;
                 all.push_back(text);
                 all.push_back(content::image_bytes("i", "image/png"));
                 all.push_back(content::audio_bytes("a", "audio/wav"));
                 all.push_back(content::link(readme));
                 all.push_back(content::embed(resource_contents::of_text("test://note", "Dear all")));
                 return all;
             },
             {.quick = true});
    add_tool("fail", "Fails in its own business", [] { return tool_result::failure("the printer is on fire"); },
             {.quick = true});
    add_tool("crash", "Throws", []() -> std::string { throw std::runtime_error("an internal detail"); },
             {.quick = true});
    add_tool("refuse", "Answers with an error of its own",
             []() -> std::string { throw error(1234, "not today", json::object({{"until", "tomorrow"}})); },
             {.quick = true});
    add_tool("count", "Tells how far it is", &count_to_three);
    add_tool("chat", "Logs",
             [](context& ctx) {
                 ctx.log(log_level::debug, "a detail");
                 ctx.log(log_level::warning, json::object({{"disk", "full"}}), "disk");
                 ctx.log(log_level::error, "it failed", "disk");
                 return "said";
             },
             {.quick = true});
    add_tool("wait", "Waits for !release", [this](context&) -> task<std::string> {
        co_await gate_.pass();
        co_return "released";
    });
    add_tool("trace", "What connects this call with others",
             [](context& ctx) {
                 trace_context t = ctx.trace();
                 return "parent=" + t.traceparent + " state=" + t.tracestate + " baggage=" + t.baggage;
             },
             {.quick = true});
}

void server_for_wire::offer_asking_tools() {
    add_tool("book", "Asks with a form", &book);
    add_tool("pay", "Sends the user to a page", &pay);
    add_tool("poem", "Lets the client's model write", &write_poem);
    add_tool("weather", "Lets the client's model use a tool", &use_tools);
    add_tool("folders", "What the client lets us see", &folders);
    auto charged = std::make_shared<int>(0);
    add_tool("charge", "Charges once, then asks", [charged](context& ctx) -> task<std::string> {
        auto charge = [charged] { return ++*charged; };
        int number = co_await ctx.once("charge", charge);
        elicited<agreement> yes = co_await ctx.elicit<agreement>("sure", "Are you sure?");
        co_return std::string(yes && yes->sure ? "kept" : "given back") + " charge " + std::to_string(number);
    });
    add_tool("two", "Asks two things at a time", [](context& ctx) -> task<std::string> {
        elicited<agreement> yes = co_await ctx.elicit<agreement>("sure", "Are you sure?");
        std::vector<root> roots = co_await ctx.list_roots("folders");
        co_return std::to_string(yes->sure) + " " + std::to_string(roots.size());
    });
    shelf_["test://asked"] = [this] {
        add_resource("test://asked", [](context& ctx) -> task<std::string> {
            elicited<agreement> yes = co_await ctx.elicit<agreement>("sure", "Are you sure?");
            co_return yes && yes->sure ? "here it is" : "not for you";
        });
    };
    shelf_["asking"] = [this] {
        add_prompt("asking", [](context& ctx) -> task<std::string> {
            elicited<agreement> yes = co_await ctx.elicit<agreement>("sure", "Are you sure?");
            co_return yes && yes->sure ? "Go on" : "Stop";
        });
    };
}

void server_for_wire::offer_the_rest() {
    shelf_["test://readme"] = [this] {
        keel::resource about;
        about.uri = "test://readme";
        about.name = "readme";
        about.title = "Read me";
        about.description = "What this is";
        about.mime_type = "text/plain";
        about.size = 5;
        add_resource(std::move(about), [] { return "Hello"; }, {.quick = true});
    };
    shelf_["test://logo"] = [this] {
        keel::resource about;
        about.uri = "test://logo";
        about.name = "logo";
        about.mime_type = "image/png";
        add_resource(std::move(about), [] { return bytes{std::string("\x89PNG", 4)}; }, {.quick = true});
    };
    shelf_["test://notes/{name}"] = [this] {
        keel::resource_template about;
        about.uri_template = "test://notes/{name}";
        about.name = "notes";
        about.title = "Notes";
        about.mime_type = "text/plain";
        template_options options;
        options.quick = true;
        options.complete["name"] = [](context&, const completion_request& in) {
            completion found;
            for (const char* each : {"alpha", "beta", "gamma"}) {
                if (std::string_view(each).starts_with(in.value)) found.values.emplace_back(each);
            }
            return found;
        };
        options.list = [](context&, const std::string&) {
            resource_page page;
            keel::resource one;
            one.uri = "test://notes/alpha";
            one.name = "alpha";
            page.resources.push_back(one);
            return page;
        };
        add_template(
            std::move(about),
            [](resource_request in) {
                if (in.variables["name"] == "nobody") throw resource_not_found(in.uri);
                return "The note " + in.variables["name"];
            },
            std::move(options));
    };
    shelf_["review"] = [this] {
        keel::prompt about;
        about.name = "review";
        about.title = "Review";
        about.description = "Looks at code";
        prompt_options options;
        options.quick = true;
        options.complete["language"] = [](context&, const completion_request& in) {
            completion found;
            if (in.chosen.contains("code")) found.values.push_back("the language of " + in.chosen.at("code"));
            found.values.emplace_back("c++");
            for (int i = 0; i < 120 && in.value == "many"; ++i) found.values.push_back(std::to_string(i));
            return found;
        };
        add_prompt(
            std::move(about),
            [](review_args in) {
                std::vector<prompt_message> messages;
                messages.emplace_back(content("Please review: " + in.code));
                messages.emplace_back(role::assistant, content("In " + in.language.value_or("any language") + "?"));
                messages.emplace_back(content::image_bytes("i", "image/png"));
                messages.emplace_back(content::embed(resource_contents::of_text("test://code", in.code)));
                return prompt_result("A review", std::move(messages));
            },
            std::move(options));
    };
    shelf_["hello"] = [this] { add_prompt("hello", [] { return "Say hello"; }, {.quick = true}); };
    shelf_["example/reverse"] = [this] {
        auto offer = std::make_shared<server_side::method_offer>();
        offer->name = "example/reverse";
        offer->handler.quick = true;
        offer->handler.plain = [](context*, const json::value& params, detail::reply& out) {
            std::string text(params["text"].if_string().value_or(""));
            out.content = json::to_string(json::object({{"text", std::string(text.rbegin(), text.rend())}}));
        };
        core->methods.put(std::move(offer), false);
    };
}

void server_for_wire::offer(const std::string& name) {
    auto at = shelf_.find(name);
    if (at == shelf_.end()) throw std::runtime_error("unknown offer \"" + name + "\"");
    at->second();
}

void server_for_wire::withdraw(const std::string& name) {
    bool gone = core->tools.remove(name) || core->resources.remove(name) || core->templates.remove(name) ||
                core->prompts.remove(name);
    if (!gone) throw std::runtime_error("the server does not offer \"" + name + "\"");
}

void server_for_wire::happen(const std::string& what) {
    std::size_t space = what.find(' ');
    std::string verb = what.substr(0, space);
    std::string rest = space == std::string::npos ? "" : what.substr(space + 1);
    if (verb == "updated") {
        core->topics.publish(rest);
    } else if (verb == "add" || verb == "remove") {
        auto tools = core->tools.snapshot();
        auto prompts = core->prompts.snapshot();
        if (verb == "add") offer(rest);
        else withdraw(rest);
        auto changed = core->tools.snapshot() != tools       ? list_kind::tools
                       : core->prompts.snapshot() != prompts ? list_kind::prompts
                                                             : list_kind::resources;
        on_loop([this, changed] { session->list_changed(changed); });
    } else if (verb == "advance") {
        std::size_t unit = 0;
        long count = std::stol(rest, &unit);
        std::string_view named = std::string_view(rest).substr(unit);
        if (named == "ms") advance(std::chrono::milliseconds(count));
        else if (named == "s") advance(std::chrono::seconds(count));
        else throw std::runtime_error("invalid duration: " + rest);
    } else if (verb == "release") {
        open(gate_);
    } else if (verb == "close") {
        close();
    } else {
        throw std::runtime_error("unknown event: !" + what);
    }
}

void server_for_wire::settle() {
    loop->run();
    // A job of a worker may start another.
    for (int i = 0; i < 3; ++i) settle_workers();
}

}  // namespace keel::conversations
