// Tools that change what the server offers.

#include "subject.hpp"

#include <keel/server.hpp>

#include <string>

namespace keel::subject {

struct uri_args {
    std::string uri;
};
KEEL_DESCRIBE(uri_args, uri)

struct name_args {
    std::string name;
};
KEEL_DESCRIBE(name_args, name)

struct greeting_args {
    std::string name;
};
KEEL_DESCRIBE(greeting_args, name)

void add_changes(server& s) {
    for (const char* name : {"one", "two"}) {
        resource r;
        r.uri = std::string("subject://") + name;
        r.name = name;
        r.mime_type = "text/plain";
        s.add_resource(std::move(r), [name] { return std::string(name); }, {.quick = true});
    }
    s.add_prompt("greeting", "Greets", [](greeting_args in) { return "Hello, " + in.name + "!"; });

    // The server outlives its handlers.
    s.add_tool("touch", "This resource has changed",
               [&s](uri_args in) {
                   s.resource_updated(in.uri);
                   return "touched";
               },
               {.quick = true});
    s.add_tool("add_tool", "Adds a tool that says its name",
               [&s](name_args in) {
                   std::string name = in.name;
                   s.add_tool(name, "Was added while serving", [name] { return name; },
                              {.quick = true, .replace = true});
                   return "added";
               },
               {.quick = true});
    s.add_tool("remove_tool", "Removes a tool",
               [&s](name_args in) { return s.remove_tool(in.name) ? "removed" : "there was none"; }, {.quick = true});
}

}  // namespace keel::subject
