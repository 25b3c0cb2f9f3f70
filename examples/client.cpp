// self-test
// A client with coroutines: first a small one, then a longer one that shows calls with typed results, progress, pages, timeouts,
// cancellation, questions from the server, subscriptions and errors. Its server is an object in the same process; a URL or a command
// works the same way.

#include <keel/client.hpp>
#include <keel/run.hpp>
#include <keel/server.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;
namespace json = keel::json;

// ---- the server ----

struct route_args {
    std::string from;
    std::string to;
};
KEEL_DESCRIBE(route_args, from, to)

struct route {
    double length = 0;
    std::vector<std::string> by_way_of;
};
KEEL_DESCRIBE(route, length, by_way_of)

struct berth {
    bool window = false;
};
KEEL_DESCRIBE(berth, (window, "Window berth?"))

route plan(route_args in) {
    if (in.from == in.to) throw keel::tool_failure("start and destination are the same");
    return {.length = 463, .by_way_of = {"Hamar", "Dovre"}};
}

keel::task<std::string> survey(keel::context& ctx) {
    for (int mile = 1; mile <= 3; ++mile) {
        ctx.progress(mile, 3, "mile " + std::to_string(mile));
        co_await ctx.yield();
    }
    co_return "surveyed";
}

keel::task<std::string> wait_for_thaw(keel::context& ctx) {
    ctx.progress(0, {}, "snow");
    co_await ctx.sleep(1h);
    co_return "the pass is open";
}

keel::task<std::string> book(keel::context& ctx) {
    keel::elicited<berth> where = co_await ctx.elicit<berth>("berth", "Which berth?");
    if (!where) co_return "not booked";
    co_return where->window ? "booked, at the window" : "booked";
}

keel::tool_result draw() {
    keel::tool_result r("The road to Trondheim:");
    r.content.push_back(keel::content::image_bytes("<svg/>", "image/svg+xml"));
    r.content.push_back(keel::content::link({.uri = "road://e6", .name = "e6"}));
    return r;
}

void offer(keel::server& server) {
    server.add_tool("plan", "Plans a route", &plan);
    server.add_tool("draw", "Draws a road", &draw);
    server.add_tool("survey", "Measures a road", &survey);
    server.add_tool("wait", "Waits for the thaw", &wait_for_thaw);
    server.add_tool("book", "Books a berth, asking which", &book);
    server.add_resource({.uri = "road://e6", .name = "e6"}, [] { return "open"; });
}

// ---- the client ----

void expect(bool right, const char* what) {
    if (!right) throw std::runtime_error(std::string("unexpected: ") + what);
}

void show(const std::string& picture, std::string_view mime_type) {
    std::printf("%zu bytes of %s\n", picture.size(), std::string(mime_type).c_str());
    expect(picture == "<svg/>", "the bytes of a picture");
}

// The smallest client: a task, and keel::run, which runs it on this thread until it has ended.
keel::task<double> distance(keel::server_target where) {
    keel::client client(where);
    co_await client.connect();
    route_args trip{.from = "Oslo", .to = "Trondheim"};
    route found = co_await client.call_tool<route>("plan", trip);
    co_return found.length;
}

keel::task<void> calls(keel::client& client) {
    // Typed: a described struct as arguments, a described struct as result.
    route_args trip{.from = "Oslo", .to = "Trondheim"};
    route found = co_await client.call_tool<route>("plan", trip);
    std::printf("%g km, by way of %s\n", found.length, found.by_way_of.at(0).c_str());
    expect(found.length == 463, "the length");

    // Untyped: JSON or a struct as arguments, all content blocks as result.
    json::value arguments = json::object("from", "Oslo", "to", "Oslo");
    keel::tool_result said = co_await client.call_tool("plan", arguments);
    if (said.is_error) std::printf("plan says: %s\n", said.text().c_str());
    expect(said.is_error, "a tool-level error");

    // A block that is not text holds bytes, or links to a resource.
    keel::tool_result drawn = co_await client.call_tool("draw");
    for (const keel::content& block : drawn.content) {
        if (block.is_text()) std::printf("%s\n", block.text().c_str());
        else if (std::optional<std::string> bytes = block.bytes()) show(*bytes, block.mime_type());
        else std::printf("see %s\n", std::string(block.uri()).c_str());
    }

    // With options.
    keel::call_options slow;
    slow.idle = 10s;
    slow.total = 5min;
    int reports = 0;
    slow.on_progress = [&](const keel::progress_report& p) {
        ++reports;
        std::printf("%g of %g: %s\n", p.progress, p.total.value_or(0), p.message.c_str());
    };
    co_await client.call_tool("survey", {}, slow);
    expect(reports == 3, "the progress");
}

keel::task<void> lists(keel::client& client) {
    std::vector<keel::tool> tools = co_await client.list_tools();
    for (const keel::tool& each : tools) std::printf("%s: %s\n", each.name.c_str(), each.description.c_str());

    // The same list page by page, for long lists.
    std::size_t count = 0;
    std::optional<std::string> cursor;
    do {
        keel::page<keel::tool> page = co_await client.list_tools_page(cursor);
        count += page.items.size();
        cursor = page.next;
    } while (cursor);
    expect(count == tools.size() && count == 5, "the pages");
}

// A call ends early by its timeout or by its stop token. The server is notified, and its handler is cancelled.
keel::task<void> limits(keel::client& client) {
    try {
        co_await client.call_tool("wait", {}, 100ms);
        expect(false, "no timeout");
    } catch (const keel::error& e) {
        expect(e.kind() == keel::error_kind::timed_out, "a timeout");
    }

    std::stop_source user;
    keel::call_options stoppable(user.get_token());
    stoppable.on_progress = [&](const keel::progress_report&) {
        user.request_stop();
    };  // or from any thread, for example a Cancel button
    try {
        co_await client.call_tool("wait", {}, stoppable);
        expect(false, "a cancelled call");
    } catch (const keel::error& e) {
        expect(e.kind() == keel::error_kind::cancelled, "a stop token");
    }
}

// on_form (see main) fills in the form. With request_once a program handles each round of questions itself (2026-07-28).
keel::task<void> questions(keel::client& client) {
    std::string booked = co_await client.call_tool<std::string>("book");
    expect(booked == "booked, at the window", "an answered form");

    json::value params = json::object("name", "book");
    keel::request_round round = co_await client.request_once("tools/call", params);
    while (!round.result) {
        keel::round_answers answers;
        answers.state = round.state;
        for (const auto& [key, question] : round.questions) {
            std::printf("%s asks: %s\n", question.method.c_str(),
                        std::string(question.params["message"].as_string()).c_str());
            answers.answers[key] = json::object("action", "decline");
        }
        round = co_await client.request_once("tools/call", params, answers);
    }
    expect((*round.result)["content"].items()[0]["text"] == "not booked", "a declined form");
}

keel::task<void> changes(keel::client& client, keel::server& server) {
    keel::subscription_request what;
    what.tools = true;
    what.uris = {"road://e6"};
    keel::subscription news = co_await client.subscribe(what);
    expect(news.agreed().tools, "what was agreed");

    server.resource_updated("road://e6");
    while (std::optional<keel::change> c = co_await news.next()) {
        if (c->what == keel::change::kind::resource) {
            std::vector<keel::resource_contents> now = co_await client.read_resource(c->uri);
            std::printf("%s: %s\n", c->uri.c_str(), now.at(0).text.value_or("").c_str());
        }
        news.stop();
    }
    if (news.how_ended() == keel::subscription_end::lost) std::printf("lost: %s\n", news.why_lost().c_str());
    expect(news.how_ended() == keel::subscription_end::ended, "a subscription that was stopped");
}

keel::task<void> errors(keel::client& client) {
    try {
        co_await client.read_resource("road://e7");
        expect(false, "an unknown resource");
    } catch (const keel::error& e) {
        std::printf("%s (%d): %s\n", std::string(keel::name_of(e.kind())).c_str(), e.code(), e.what());
        expect(e.kind() == keel::error_kind::rejected, "the error kind");
    }
    try {
        route_args nowhere{.from = "Oslo", .to = "Oslo"};
        co_await client.call_tool<route>("plan", nowhere);
        expect(false, "no exception for a tool-level error");
    } catch (const keel::tool_failed& e) {
        expect(std::string(e.what()) == "start and destination are the same", "the error text of the tool");
    }
}

keel::task<void> tour(keel::client& client, keel::server& server) {
    co_await client.connect();
    keel::server_facts facts = client.server();
    std::printf("%s speaks %s\n", facts.about.name.c_str(), facts.protocol_version.c_str());
    co_await calls(client);
    co_await lists(client);
    co_await limits(client);
    co_await questions(client);
    co_await changes(client, server);
    co_await errors(client);
    co_await client.close();
}

int main() {
    keel::server server({.name = "roads", .version = "1.0.0"});
    offer(server);
    keel::client_options options;
    options.about = {.name = "traveller", .version = "1.0.0"};
    options.on_form = [](const keel::form_question&) { return keel::form_answer(json::object("window", true)); };
    keel::client client(server, options);
    try {
        double length = keel::run(distance(server));
        std::printf("%g km\n", length);
        keel::run(tour(client, server));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "client: %s\n", e.what());
        return 1;
    }
    return 0;
}
