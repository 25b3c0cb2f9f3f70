// Requests and notifications from the server: the driver sets the answers in advance, and each request prints a line.

#include "caller.hpp"

#include <keel/context.hpp>

#include <condition_variable>
#include <mutex>
#include <string>

namespace keel::caller {

namespace {

std::string text(const json::value& v) { return std::string(v.if_string().value_or("")); }

bool wants(const json::value& options, std::string_view event) {
    for (const json::value& each : options["events"].items()) {
        if (each.if_string() == event) return true;
    }
    return false;
}

void tell(const std::string& client, std::string_view event, const json::value& more) {
    json::value shown = json::object({{"event", event}, {"as", client}});
    for (const json::member& m : more.members()) shown.set(m.key(), m.content);
    say(shown);
}

/// "hold" does not answer until the server cancels the request.
void hold(const std::string& client, const asked_by& who) {
    std::mutex alone;
    std::condition_variable_any never;
    std::unique_lock lock(alone);
    never.wait(lock, who.stop_token(), [] { return false; });
    tell(client, "taken_back", json::object());
}

elicit_action action_of(std::string_view word) {
    if (word == "accept") return elicit_action::accept;
    return word == "decline" ? elicit_action::decline : elicit_action::cancel;
}

std::string said_in(const sampling_request& asked) {
    std::string all;
    for (const sampling_message& m : asked.messages) {
        for (const content& block : m.content) all += block.is_text() ? block.text() : "";
    }
    return all;
}

std::string_view list_name(list_kind what) {
    if (what == list_kind::tools) return "tools";
    return what == list_kind::prompts ? "prompts" : "resources";
}

}  // namespace

std::vector<root> read_roots(const json::value& from) {
    std::vector<root> all;
    for (const json::value& each : from.items()) all.push_back({.uri = text(each["uri"]), .name = text(each["name"])});
    return all;
}

void read_answers(const json::value& from, const std::string& name, client_options& o) {
    const json::value& answers = from["answers"];
    if (const json::value* form = answers.find("form")) {
        o.on_form = [name, a = *form](const asked_by& who, const form_question& q) {
            tell(name, "asked", json::object({{"what", "form"}, {"message", q.message}, {"schema", q.schema}}));
            if (!a.if_string()) return form_answer(a);
            if (*a.if_string() == "hold") hold(name, who);
            return form_answer(action_of(*a.if_string()));
        };
    }
    if (const json::value* page = answers.find("url")) {
        o.on_url = [name, a = text(*page)](const url_question& q) {
            tell(name, "asked", json::object({{"what", "url"}, {"message", q.message}, {"url", q.url}}));
            return action_of(a);
        };
    }
    if (const json::value* sampling = answers.find("sampling")) {
        o.on_sampling = [name, a = text(*sampling)](const sampling_request& asked) {
            tell(name, "asked", json::object({{"what", "sampling"}, {"message", said_in(asked)}}));
            if (a == "refuse") throw error(-1, "the user does not want it");
            return sampling_result(content(a), "a-model", "endTurn");
        };
    }
    if (const json::value* roots = answers.find("roots")) o.roots = read_roots(*roots);
    if (wants(from, "server_log")) {
        o.on_log = [name](const server_log& l) {
            tell(name, "server_log",
                 json::object({{"level", name_of(l.level)}, {"logger", l.logger}, {"data", l.data}}));
        };
    }
    if (wants(from, "list_changed")) {
        o.on_list_changed = [name](list_kind what) {
            tell(name, "list_changed", json::object({{"what", list_name(what)}}));
        };
    }
    if (wants(from, "updated")) {
        o.on_resource_updated = [name](std::string_view uri) { tell(name, "updated", json::object({{"uri", uri}})); };
    }
}

}  // namespace keel::caller
