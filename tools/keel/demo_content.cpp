// Tools that return every kind of content, structured output and logs, and that show request metadata.

#include "demo.hpp"
#include "demo_media.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace keel::demo {

enum class unit { celsius, fahrenheit };
KEEL_DESCRIBE_ENUM(unit, celsius, fahrenheit)

enum class place { oslo, lima, cairo };
KEEL_DESCRIBE_ENUM(place, (oslo, "Oslo"), (lima, "Lima"), (cairo, "Cairo"))

struct weather_args {
    place city = place::oslo;
    std::optional<unit> in;
};
KEEL_DESCRIBE(weather_args, (city, "Which city"), (in, "Unit, Celsius by default"))

struct weather {
    place city = place::oslo;
    double temperature = 0;
    unit in = unit::celsius;
    std::vector<std::string> warnings;
};
KEEL_DESCRIBE(weather, city, temperature, in, warnings)

enum class loudness { debug, info, notice, warning, error, critical, alert, emergency };
KEEL_DESCRIBE_ENUM(loudness, debug, info, notice, warning, error, critical, alert, emergency)

struct log_args {
    loudness level = loudness::info;
    std::string text;
};
KEEL_DESCRIBE(log_args, level, text)

struct request_facts {
    std::string protocol_version;
    std::string client;
    std::string traceparent;
    std::string tracestate;
    std::string baggage;
};
KEEL_DESCRIBE(request_facts, protocol_version, client, traceparent, tracestate, baggage)

struct health_facts {
    std::uint64_t connections = 0;
    std::uint64_t in_flight = 0;
    std::uint64_t requests = 0;
    std::int64_t slowest_call_us = 0;
};
KEEL_DESCRIBE(health_facts, connections, in_flight, requests, slowest_call_us)

namespace {

icon boat_icon() {
    icon i;
    i.source = "data:image/png;base64," + std::string(boat_png);
    i.mime_type = "image/png";
    i.sizes = {"8x8"};
    return i;
}

std::vector<content> show_content() {
    resource readme;
    readme.uri = "demo://readme";
    readme.name = "readme";
    readme.description = "About the demo";
    readme.mime_type = "text/markdown";

    std::vector<content> all;
    content words("Text, for the user and the model.");
    words.with({.audience = {role::user, role::assistant}, .priority = 0.9});
    all.push_back(std::move(words));
    all.push_back(content::image(boat_png, "image/png"));
    all.push_back(content::audio_bytes(beep_wav(), "audio/wav"));
    all.push_back(content::embed(resource_contents::of_text("demo://note", "An embedded text", "text/plain")));
    all.push_back(content::embed(resource_contents::of_bytes("demo://bytes", std::string("\0\1\2", 3))));
    all.push_back(content::link(readme));
    return all;
}

// Constant, so that the demo gives the same result everywhere.
weather look_outside(weather_args in) {
    weather w;
    w.city = in.city;
    w.in = in.in.value_or(unit::celsius);
    w.temperature = in.city == place::oslo ? 4 : in.city == place::lima ? 19 : 31;
    if (w.temperature > 30) w.warnings.emplace_back("heat");
    if (w.in == unit::fahrenheit) w.temperature = w.temperature * 9 / 5 + 32;
    return w;
}

std::string log(context& ctx, log_args in) {
    ctx.log(static_cast<log_level>(in.level), json::object({{"text", in.text}}), "demo");
    return "logged";
}

request_facts facts(context& ctx) {
    request_facts f;
    f.protocol_version = ctx.protocol_version();
    f.client = std::string(ctx.client_info()["name"].if_string().value_or(""));
    trace_context t = ctx.trace();
    f.traceparent = t.traceparent;
    f.tracestate = t.tracestate;
    f.baggage = t.baggage;
    return f;
}

}  // namespace

void add_content(server& s) {
    s.add_tool("show_content", "Returns one block of each kind of content", &show_content,
               {.title = "Every kind of content", .icons = {boat_icon()}});

    tool_options look_options;
    look_options.title = "Weather";
    look_options.annotations = {.title = "Weather", .read_only = true, .idempotent = true, .open_world = false};
    look_options.icons = {boat_icon()};
    look_options.meta = json::object({{"com.example/source", "made up"}});
    s.add_tool("weather", "Returns the weather as structured output with a schema", &look_outside,
               std::move(look_options));

    s.add_tool("log", "Sends a log message of the level you choose", &log, {.quick = true});
    s.add_tool("request_facts", "Returns the metadata of this request: revision, client, trace context", &facts,
               {.quick = true, .annotations = {.read_only = true}});
    // The server outlives its handlers.
    s.add_tool("health", "Returns the health report of the server", [&s] {
        server_health h = s.health();
        health_facts f{.connections = h.connections, .in_flight = h.in_flight, .requests = h.requests};
        auto slowest = std::chrono::duration_cast<std::chrono::microseconds>(h.methods["tools/call"].slowest);
        f.slowest_call_us = slowest.count();
        return f;
    });
}

}  // namespace keel::demo
