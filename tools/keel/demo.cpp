#include "demo.hpp"

#include <memory>

namespace keel::demo {

server_options options() {
    server_options o;
    o.instructions =
        "A demonstration of everything a server can offer. Start with echo, show_content and book_trip; read "
        "demo://readme.";
    // Changes are announced, so clients may cache lists until then.
    o.cache["server/discover"] = {.ttl = std::chrono::hours(1), .shared = true};
    o.cache["prompts/list"] = {.ttl = std::chrono::minutes(5), .shared = true};
    o.cache["resources/templates/list"] = {.ttl = std::chrono::minutes(5), .shared = true};
    o.extensions["com.example/demo-echo"] = json::object({{"methods", json::array({"demo/echo"})}});
    return o;
}

void add_everything(server& s) {
    s.on_start([] { return std::make_unique<memory>(); });
    add_tools(s);
    add_client_requests(s);
    add_content(s);
    add_changes(s);
    add_resources(s);
    add_prompts(s);
    add_methods(s);
}

void add_methods(server& s) {
    s.add_method("demo/echo", [](context&, const json::value& params) {
        json::value said = params;
        if (said.is_object()) said.erase("_meta");
        return json::object({{"echo", std::move(said)}});
    });
}

}  // namespace keel::demo
