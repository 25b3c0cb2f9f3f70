// A resource and a tool list that change while serving, with notifications to subscribers.

#include "demo.hpp"

#include <string>

namespace keel::demo {

namespace {

constexpr const char* counter_uri = "demo://counter";

}  // namespace

void add_changes(server& s) {
    resource counter;
    counter.uri = counter_uri;
    counter.name = "counter";
    counter.description = "Changes with every call of the tool bump; subscribe to it";
    counter.mime_type = "text/plain";
    s.add_resource(std::move(counter), [](context& ctx) { return std::to_string(ctx.state<memory>().counter.load()); },
                   {.quick = true});

    // The server outlives its handlers.
    s.add_tool("bump", "Adds one to demo://counter and notifies subscribers",
               [&s](context& ctx) {
                   std::int64_t now = ++ctx.state<memory>().counter;
                   s.resource_updated(counter_uri);
                   return now;
               },
               {.quick = true});

    s.add_tool("toggle_extra", "Adds or removes the tool `extra` and notifies clients that the tool list has changed",
               [&s](context& ctx) {
                   if (s.remove_tool("extra")) return "extra is gone";
                   ctx.log(log_level::info, "adding extra", "demo");
                   s.add_tool("extra", "Present only after toggle_extra", [] { return "here for now"; },
                              {.quick = true, .replace = true});  // another call may have added it meanwhile
                   return "extra is here";
               },
               {.quick = true});
}

}  // namespace keel::demo
