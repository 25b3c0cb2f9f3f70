// Tools: arguments with limits and choices, structured output, images, tool-level errors that a model can read, and a tool with
// JSON schemas.

#include <keel/main.hpp>

#include <atomic>
#include <map>
#include <string>
#include <vector>

namespace json = keel::json;

enum class unit { metric, imperial };
KEEL_DESCRIBE_ENUM(unit, metric, imperial)

struct route_args {
    std::string from;
    std::string to;
    std::optional<unit> units;
    int stops = 0;
};
KEEL_DESCRIBE(route_args, (from, "Start of the route", keel::min_length(1)),
              (to, "End of the route", keel::min_length(1)), units,
              (stops, "Number of stops", keel::minimum(0), keel::maximum(10), keel::defaulted))

struct leg {
    std::string to;
    double length = 0;
};
KEEL_DESCRIBE(leg, to, length)

struct route {
    double length = 0;
    std::vector<leg> legs;
};
KEEL_DESCRIBE(route, length, legs)

struct city_args {
    std::string city;
};
KEEL_DESCRIBE(city_args, city)

// Returns a described struct: clients get structured output and see its schema in the list of tools.
route plan(route_args in) {
    route r;
    r.length = in.units == unit::imperial ? 62 : 100;
    for (int i = 1; i <= in.stops; ++i) r.legs.push_back({"stop " + std::to_string(i), r.length / (in.stops + 1)});
    r.legs.push_back({in.to, r.length / (in.stops + 1)});
    return r;
}

// Several content blocks. Images and audio are given as bytes or as Base64.
std::vector<keel::content> postcard(city_args in) {
    keel::resource guide;
    guide.uri = "https://example.com/guide/" + in.city;
    guide.name = "guide";

    keel::content caption("Greetings from " + in.city);
    caption.with({.audience = {keel::role::user}, .priority = 0.8});

    std::vector<keel::content> blocks;
    blocks.push_back(caption);
    blocks.push_back(keel::content::image_bytes("GIF89a", "image/gif"));
    blocks.push_back(keel::content::link(guide));
    blocks.push_back(keel::content::embed(keel::resource_contents::of_text("note:weather", "Sunny")));
    return blocks;
}

// A tool-level error is a result with isError. The model reads it and can correct its call.
keel::tool_result population(city_args in) {
    static const std::map<std::string, int> known = {{"Oslo", 717710}, {"Lima", 10092000}};
    auto at = known.find(in.city);
    if (at == known.end()) return keel::tool_result::failure("no such city: " + in.city);
    return std::to_string(at->second);
}

class call_counter {
public:
    int add() { return ++count_; }

private:
    std::atomic<int> count_ = 0;
};

int main(int argc, char** argv) {
    call_counter counter;
    keel::server server({.name = "travel", .version = "1.0.0"});

    keel::tool_options about_plan;
    about_plan.title = "Plan a route";
    about_plan.annotations = {.read_only = true, .idempotent = true, .open_world = false};
    about_plan.icons = {{.source = "https://example.com/route.svg", .mime_type = "image/svg+xml", .sizes = {"any"}}};
    server.add_tool("plan", "Plans a route between two cities", &plan, about_plan);

    server.add_tool("postcard", "A picture with a caption", &postcard);
    server.add_tool("population", "Population of a city", &population, {.quick = true});
    server.add_tool("count", "Counts the calls of this tool", keel::bind_member(&call_counter::add, &counter));

    keel::tool_description exchange;
    exchange.name = "exchange";
    exchange.description = "Converts money to euros";
    exchange.input_schema = json::parse(R"({
        "type": "object",
        "properties": {
            "amount": {"type": "number", "exclusiveMinimum": 0},
            "currency": {"type": "string", "pattern": "^[A-Z]{3}$"}
        },
        "required": ["amount", "currency"]
    })");
    exchange.output_schema = json::parse(R"({
        "type": "object",
        "properties": {"euros": {"type": "number"}},
        "required": ["euros"]
    })");
    server.add_tool(exchange, [](keel::context&, const json::value& in) -> keel::tool_result {
        if (in["currency"] != "USD") return keel::tool_result::failure("no rate for this currency");
        keel::tool_result r;
        r.structured = json::object("euros", in["amount"].as_double() * 0.5);
        r.content.push_back(json::to_string(*r.structured));
        return r;
    });
    return keel::main(server, argc, argv);
}
