// Tools known only at run time: JSON arguments, added and removed while the server is running.

#include <keel/main.hpp>

#include <string>

namespace json = keel::json;

int main(int argc, char** argv) {
    keel::server server({.name = "runtime", .version = "1.0.0"});

    keel::tool_description learn;
    learn.name = "learn";
    learn.description = "Adds a tool with the given name that returns the given text";
    learn.input_schema = json::parse(R"({
        "type": "object",
        "properties": {"name": {"type": "string"}, "text": {"type": "string"}},
        "required": ["name", "text"]
    })");
    server.add_tool(learn, [&server](keel::context&, const json::value& in) -> keel::tool_result {
        keel::tool_description made;
        made.name = in["name"].if_string().value_or("");
        made.input_schema = json::object("type", "object");
        std::string text(in["text"].if_string().value_or(""));
        try {
            server.add_tool(made, [text](keel::context&, const json::value&) { return keel::tool_result(text); });
        } catch (const std::invalid_argument& e) {
            return keel::tool_result::failure(e.what());  // names the tool and the invalid field
        }
        return "learned " + made.name;
    });
    server.add_tool("forget_all", "Removes the tool named greeting, if there is one", [&server] {
        return std::string(server.remove_tool("greeting") ? "forgotten" : "nothing to forget");
    });
    return keel::main(server, argc, argv);
}
