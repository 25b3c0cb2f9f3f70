// The calls that a driver can start, and the output for their results.

#include "caller.hpp"

#include <keel/server.hpp>

namespace keel::caller {

namespace {

std::string text(const json::value& v) { return std::string(v.if_string().value_or("")); }

std::map<std::string, std::string> texts(const json::value& v) {
    std::map<std::string, std::string> all;
    for (const json::member& m : v.members()) all[std::string(m.key())] = text(m.content);
    return all;
}

json::value show(const tool_result& r) {
    std::string said;
    for (const content& block : r.content) said += block.text();
    json::value shown = json::object({{"text", said}, {"is_error", r.is_error}});
    if (r.structured) shown.set("structured", *r.structured);
    return shown;
}
json::value show(const prompt_result& r) { return r.messages.size(); }
json::value show(const completion& r) { return r.values.size(); }
json::value show(const json::value& r) { return r; }
json::value show(const request_round& r) { return r.result ? *r.result : json::value("questions"); }
template <class T>
json::value show(const std::vector<T>& all) {
    return all.size();
}
template <class T>
json::value show(const page<T>& one) {
    return one.items.size();
}

template <class T>
task<json::value> shown(task<T> call) {
    T result = co_await std::move(call);
    co_return show(result);
}
task<json::value> shown(task<void> call) {
    co_await std::move(call);
    co_return json::value();
}
task<json::value> done() { co_return json::value(); }

}  // namespace

task<json::value> make_call(client& c, const std::string& what, const json::value& args, call_options how) {
    std::string name = text(args["name"]);
    if (what == "list_tools") return shown(c.list_tools(std::move(how)));
    if (what == "list_tools_page") return shown(c.list_tools_page({}, std::move(how)));
    if (what == "call_tool") return shown(c.call_tool(name, args["arguments"], std::move(how)));
    if (what == "list_resources") return shown(c.list_resources(std::move(how)));
    if (what == "templates") return shown(c.list_resource_templates(std::move(how)));
    if (what == "read") return shown(c.read_resource(text(args["uri"]), std::move(how)));
    if (what == "list_prompts") return shown(c.list_prompts(std::move(how)));
    if (what == "get_prompt") return shown(c.get_prompt(name, texts(args["arguments"]), std::move(how)));
    if (what == "complete") return shown(c.complete_prompt(name, "argument", text(args["value"]), {}, std::move(how)));
    if (what == "complete_resource")
        return shown(c.complete_resource(text(args["uri"]), "argument", text(args["value"]), {}, std::move(how)));
    if (what == "ping") return shown(c.ping(std::move(how)));
    if (what == "set_level") return shown(c.set_log_level(log_level::warning));
    if (what == "request") return shown(c.request(text(args["method"]), args["params"], std::move(how)));
    if (what == "request_once") return shown(c.request_once(text(args["method"]), args["params"], {}, std::move(how)));
    if (what == "set_roots") {
        c.set_roots(read_roots(args["roots"]));
        return done();
    }
    throw std::invalid_argument("no such call: " + what);
}

}  // namespace keel::caller
