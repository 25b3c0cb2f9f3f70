// self-test
// An agent: it connects to several servers and runs a loop in which a model chooses tools and reads their results. Servers may
// ask questions during a call: the user fills in forms, and the model answers sampling requests.
//
//     agent ./calculator "npx some-server /tmp" https://example.com/mcp
//
// In this example the person at the terminal plays the model: type  TOOL {"argument": 1}  or the final answer. A program with a
// real model replaces `person_as_model`.

#include <keel/async.hpp>
#include <keel/client.hpp>
#include <keel/run.hpp>
#include <keel/server.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;
namespace json = keel::json;

// ---- the model ----

struct wanted_call {
    std::string tool;
    json::value arguments;
};

/// What to do next: tool calls, which run concurrently, or the final answer.
struct decision {
    std::vector<wanted_call> calls = {};
    std::string answer = {};
};

class model {
public:
    virtual ~model() = default;
    /// `said` is the conversation so far: the goal, then the results of all tool calls.
    virtual decision decide(const std::vector<std::string>& said, const std::vector<keel::tool>& tools) = 0;
    /// Answers a sampling request of a server. Called on a worker thread.
    virtual std::string write(const keel::sampling_request& what) = 0;
    /// Fills in a form of a server. Called on a worker thread.
    virtual keel::form_answer fill_in(const std::string& server, const keel::form_question& form) = 0;
};

// ---- the servers ----

class agent {
public:
    explicit agent(model& who) : model_(who) {}

    void add(std::string name, keel::server_target where) {
        keel::client_options options;
        options.about = {.name = "agent", .version = "1.0.0"};
        options.restart.attempts = 2;
        options.on_form = [this](const keel::asked_by& by, const keel::form_question& form) {
            return model_.fill_in(by.server_name(), form);
        };
        options.on_sampling = [this](const keel::sampling_request& what) {
            return keel::sampling_result(model_.write(what), "the-model", "endTurn");
        };
        // Each client has its own thread, so the agent's loop may block while the model decides.
        servers_.emplace(std::move(name), std::make_unique<keel::client>(std::move(where), std::move(options)));
    }

    keel::task<std::string> reach(std::string goal) {
        auto all = [this](keel::scope& together) -> keel::task<void> {
            for (auto& [name, client] : servers_) together.spawn(connect(name, *client));
            co_return;
        };
        co_await keel::with_scope(all);
        std::erase_if(servers_, [](const auto& each) { return !each.second->connected(); });

        std::vector<std::string> said{std::move(goal)};
        constexpr int most_turns = 20;
        for (int turn = 0; turn < most_turns; ++turn) {
            std::vector<keel::tool> tools = co_await every_tool();
            decision next = model_.decide(said, tools);
            if (next.calls.empty()) co_return next.answer;
            std::vector<std::string> results(next.calls.size());
            auto calls = [&](keel::scope& together) -> keel::task<void> {
                for (std::size_t i = 0; i < results.size(); ++i) together.spawn(call(next.calls[i], results[i]));
                co_return;
            };
            co_await keel::with_scope(calls);
            for (std::string& each : results) said.push_back(std::move(each));
        }
        co_return "no answer after 20 turns";
    }

    keel::task<void> close() {
        for (auto& each : servers_) co_await each.second->close();
    }

private:
    // An unreachable server is skipped; the other servers stay in use.
    keel::task<void> connect(const std::string& name, keel::client& client) {
        try {
            co_await client.connect();
            keel::server_facts facts = client.server();
            std::printf("%s: %s, revision %s\n", name.c_str(), facts.about.name.c_str(),
                        facts.protocol_version.c_str());
        } catch (const std::exception& e) {
            std::printf("%s skipped: %s\n", name.c_str(), e.what());
        }
    }

    // Lists the tools before each turn, because servers may add and remove tools. Lists with a cache hint come from the cache.
    keel::task<std::vector<keel::tool>> every_tool() {
        std::vector<keel::tool> all;
        for (auto& [name, client] : servers_) {
            try {
                std::vector<keel::tool> of_one = co_await client->list_tools();
                for (keel::tool& each : of_one) {
                    each.name = name + "." + each.name;  // two servers may use the same tool name
                    all.push_back(std::move(each));
                }
            } catch (const keel::error& e) {
                std::printf("%s: %s\n", name.c_str(), e.what());
            }
        }
        co_return all;
    }

    // The model reads every outcome, errors included.
    keel::task<void> call(const wanted_call& what, std::string& into) {
        std::size_t dot = what.tool.find('.');
        auto at = servers_.find(what.tool.substr(0, dot));
        if (dot == std::string::npos || at == servers_.end()) {
            into = what.tool + ": unknown tool";
            co_return;
        }
        try {
            keel::call_options limit(1min);  // idle timeout: no answer and no progress for one minute
            keel::tool_result r = co_await at->second->call_tool(what.tool.substr(dot + 1), what.arguments, limit);
            into = what.tool + (r.is_error ? " failed: " : ": ");
            for (const keel::content& each : r.content) {
                into += each.type() == "text" ? each.text() : "(" + std::string(each.type()) + ")";
            }
        } catch (const keel::error& e) {
            into = what.tool + ": " + advice(e.kind()) + ": " + e.what();
        } catch (const std::invalid_argument& e) {
            into = what.tool + ": " + e.what();
        }
    }

    static std::string advice(keel::error_kind kind) {
        switch (kind) {
            case keel::error_kind::rejected: return "refused";
            case keel::error_kind::timed_out:
            case keel::error_kind::closed:
            case keel::error_kind::stream_lost:
            case keel::error_kind::session_lost: return "no answer; the call may have been executed";
            default: return "could not be done";
        }
    }

    model& model_;
    std::map<std::string, std::unique_ptr<keel::client>> servers_;  // last member: the clients call model_
};

// ---- the person at the terminal ----

class person_as_model final : public model {
    decision decide(const std::vector<std::string>& said, const std::vector<keel::tool>& tools) override {
        for (; shown_ < said.size(); ++shown_) std::printf("%s\n", said[shown_].c_str());
        for (const keel::tool& each : tools) std::printf("  %s  %s\n", each.name.c_str(), each.description.c_str());
        for (;;) {
            std::string line = ask("TOOL {...}, or the answer");
            std::string tool = line.substr(0, line.find(' '));
            bool is_tool = std::any_of(tools.begin(), tools.end(), [&](const keel::tool& t) { return t.name == tool; });
            if (!is_tool) return {.answer = line};
            try {
                json::value arguments = json::parse(line.size() > tool.size() ? line.substr(tool.size()) : "{}");
                return {.calls = {{.tool = tool, .arguments = arguments}}};
            } catch (const json::error& e) {
                std::printf("invalid JSON: %s\n", e.what());
            }
        }
    }
    std::string write(const keel::sampling_request& what) override {
        std::string question = "Write this";
        for (const keel::sampling_message& each : what.messages) {
            for (const keel::content& block : each.content) question += ": " + block.text();
        }
        return ask(question);
    }
    keel::form_answer fill_in(const std::string& server, const keel::form_question& form) override {
        std::printf("%s asks: %s\n", server.c_str(), form.message.c_str());
        std::string line = ask(json::to_string(form.schema) + "\nas JSON, or nothing to decline");
        if (line.empty()) return keel::elicit_action::decline;
        return json::parse(line);  // the library rejects values that do not match the form
    }

    // Concurrent calls may ask at the same time: the mutex shows one question after the other.
    std::string ask(const std::string& what) {
        std::lock_guard turn(mutex_);
        std::printf("%s> ", what.c_str());
        std::fflush(stdout);
        std::string line;
        if (!std::getline(std::cin, line)) throw std::runtime_error("end of input");
        return line;
    }
    std::mutex mutex_;
    std::size_t shown_ = 0;
};

static keel::server_target target_of(const std::string& text) {
    if (text.starts_with("http://") || text.starts_with("https://")) return keel::url{.address = text};
    std::istringstream words(text);
    keel::child_process child;
    words >> child.command;
    for (std::string each; words >> each;) child.arguments.push_back(each);
    return child;
}

// ---- the self-test: two servers in this process, one unreachable server, and a scripted model ----

struct day {
    std::string name;
};
KEEL_DESCRIBE(day, name)

struct boat {
    std::string kind;
};
KEEL_DESCRIBE(boat, kind)

static keel::task<std::string> forecast(keel::context& ctx, day) {
    keel::sampling_request request("Describe in a sailor's words: wind 5, south-west", 50);
    keel::sampling_result words = co_await ctx.sample("words", request);
    co_return words.text();
}

static keel::task<keel::tool_result> rent(keel::context& ctx) {
    keel::elicited<boat> which = co_await ctx.elicit<boat>("boat", "Which boat?");
    if (!which) co_return keel::tool_result::failure("no boat was chosen");
    co_return "a " + which->kind + " is yours";
}

class script final : public model {
    decision decide(const std::vector<std::string>& said, const std::vector<keel::tool>& tools) override {
        if (tools.size() != 2) return {.answer = "wrong tools"};
        if (said.size() == 1) {
            return {.calls = {{.tool = "weather.forecast", .arguments = json::object("name", "Sunday")},
                              {.tool = "harbour.rent", .arguments = {}},
                              {.tool = "weather.forecast", .arguments = json::object("day", 7)}}};
        }
        return {.answer = said.at(1) + "; " + said.at(2) + "; " + said.at(3)};
    }
    std::string write(const keel::sampling_request& what) override {
        bool known = what.messages.at(0).content.at(0).text().find("wind 5") != std::string::npos;
        return known ? "a fresh breeze" : "?";
    }
    keel::form_answer fill_in(const std::string& server, const keel::form_question&) override {
        if (server != "harbour") return keel::elicit_action::decline;
        return json::object("kind", "dinghy");
    }
};

static keel::task<std::string> reach_and_close(agent& with, std::string goal) {
    std::string found = co_await with.reach(std::move(goal));
    co_await with.close();
    co_return found;
}

static std::string run(agent& with, const std::string& goal) { return keel::run(reach_and_close(with, goal)); }

static bool self_test() {
    keel::server weather({.name = "weather", .version = "1.0.0"});
    weather.add_tool("forecast", "The weather of a day", &forecast);
    keel::server harbour({.name = "harbour", .version = "1.0.0"});
    harbour.add_tool("rent", "Rents a boat", &rent);
    script plays_model;
    agent sailor(plays_model);
    sailor.add("weather", weather);
    sailor.add("harbour", harbour);
    sailor.add("nowhere", keel::child_process{.command = "/nonexistent/server"});
    const std::string answer = run(sailor, "Go sailing on Sunday");
    std::printf("%s\n", answer.c_str());
    return answer.starts_with(
               "weather.forecast: a fresh breeze; harbour.rent: a dinghy is yours; "
               "weather.forecast failed: ") &&
           answer.find("name") != std::string::npos;
}

int main(int argc, char** argv) {
    try {
        if (argc < 2 || std::string_view(argv[1]) == "--self-test") return self_test() ? 0 : 1;
        person_as_model person;
        agent helper(person);
        for (int i = 1; i < argc; ++i) helper.add("s" + std::to_string(i), target_of(argv[i]));
        const std::string answer = run(helper, "What is the task?");
        std::printf("%s\n", answer.c_str());
    } catch (const std::exception& e) {
        std::fprintf(stderr, "agent: %s\n", e.what());
        return 1;
    }
    return 0;
}
