// Reads targets and options from JSON.

#include "caller.hpp"

#include <keel/server.hpp>

#include <stdexcept>

namespace keel::caller {

namespace {

std::string text(const json::value& v) { return std::string(v.if_string().value_or("")); }

void read(const json::value& from, duration& into) {
    if (auto ms = from.if_int()) into = std::chrono::milliseconds(*ms);
}
void read(const json::value& from, std::size_t& into) {
    if (auto n = from.if_uint()) into = static_cast<std::size_t>(*n);
}
void read(const json::value& from, bool& into) {
    if (auto b = from.if_bool()) into = *b;
}

std::vector<std::pair<std::string, std::string>> pairs(const json::value& from) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const json::member& m : from.members()) all.emplace_back(m.key(), text(m.content));
    return all;
}

void read_limits(const json::value& from, limits& l) {
    read(from["final_write"], l.final_write);
    read(from["write_stall"], l.write_stall);
    read(from["request_idle"], l.request_idle);
    read(from["request_total"], l.request_total);
    read(from["child_exit"], l.child_exit);
    read(from["child_term"], l.child_term);
    read(from["child_reap"], l.child_reap);
    read(from["cleanup_grace"], l.cleanup_grace);
    read(from["max_message"], l.max_message);
}

bool wants(const json::value& options, std::string_view event) {
    for (const json::value& each : options["events"].items()) {
        if (each.if_string() == event) return true;
    }
    return false;
}

}  // namespace

server_target read_target(const json::value& from) {
    if (const json::value* c = from.find("child")) {
        child_process what{.command = text((*c)["command"])};
        for (const json::value& each : (*c)["arguments"].items()) what.arguments.push_back(text(each));
        what.environment = pairs((*c)["environment"]);
        what.directory = text((*c)["directory"]);
        return what;
    }
    if (const json::value* u = from.find("url")) {
        url what{.address = text(*u)};
        what.headers = pairs(from["headers"]);
        what.proxy = text(from["proxy"]);  // ignore the environment
        read(from["max_connections"], what.max_connections);
        read(from["max_body"], what.max_body);
        return what;
    }
    if (const json::value* path = from.find("unix")) return unix_socket{.path = text(*path)};
    if (const json::value* address = from.find("tcp")) return tcp{.address = text(*address)};
    throw std::invalid_argument("no such target: " + json::to_string(from));
}

client_options read_options(const json::value& from, const std::string& name) {
    client_options o;
    o.about = {.name = "test-caller", .version = "1"};
    read_limits(from["limits"], o.limits);
    std::string mode = text(from["mode"]);
    o.mode = mode == "legacy"   ? protocol_mode::legacy
             : mode == "modern" ? protocol_mode::modern
                                : protocol_mode::automatic;
    o.version = text(from["version"]);
    read(from["probe_timeout"], o.probe_timeout);
    read(from["connect_timeout"], o.connect_timeout);
    if (auto attempts = from["restart"]["attempts"].if_uint()) o.restart.attempts = static_cast<unsigned>(*attempts);
    read(from["restart"]["first_wait"], o.restart.first_wait);
    read(from["check_results"], o.check_results);
    o.cache.enabled = false;  // every call must reach the server
    read(from["cache"], o.cache.enabled);

    auto tell = [name](std::string_view event, std::initializer_list<std::pair<std::string_view, json::value>> more) {
        json::value shown = json::object({{"event", event}, {"as", name}});
        for (const auto& [key, value] : more) shown.set(key, value);
        say(shown);
    };
    if (wants(from, "disconnected")) {
        o.on_disconnected = [tell](const disconnection& d) {
            tell("disconnected", {{"cause", d.cause}, {"will_restart", d.will_restart}});
        };
    }
    if (wants(from, "stderr")) {
        o.on_stderr = [tell](std::string_view s) {
            tell("stderr", {{"text", json::is_utf8(s) ? s : std::string_view("(no text)")}});
        };
    }
    if (wants(from, "stderr_bytes")) {
        o.on_stderr = [tell, sum = std::size_t{0}, told = std::size_t{0}](std::string_view s) mutable {
            sum += s.size();
            if (sum - told < 1024 * 1024) return;  // report once per MiB
            told = sum;
            tell("stderr_bytes", {{"bytes", sum}});
        };
    }
    if (wants(from, "session")) o.on_session_renewed = [tell] { tell("session", {}); };
    if (wants(from, "log")) {
        o.log = [tell](log_level level, std::string_view s) { tell("log", {{"level", name_of(level)}, {"text", s}}); };
    }
    read_answers(from, name, o);
    return o;
}

call_options read_call_options(const json::value& from, std::stop_token stop) {
    call_options how;
    read(from["idle"], how.idle);
    read(from["total"], how.total);
    how.stop = std::move(stop);
    if (from["progress"].if_bool().value_or(false)) {
        how.on_progress = [n = from["n"].if_int().value_or(0)](const progress_report& p) {
            say(json::object({{"event", "progress"}, {"n", n}, {"progress", p.progress}}));
        };
    }
    return how;
}

}  // namespace keel::caller
