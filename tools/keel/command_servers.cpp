// keel servers

#include "commands.hpp"
#include "config_search.hpp"
#include "exit_status.hpp"
#include "printable.hpp"
#include "table.hpp"

#include <cstdio>

namespace keel::command {

namespace {

const char* name_of(configured_server::kind k) {
    switch (k) {
        case configured_server::kind::stdio: return "stdio";
        case configured_server::kind::http: return "http";
        case configured_server::kind::sse: return "sse";
        case configured_server::kind::invalid: break;
    }
    return "invalid";
}

json::value as_json(const configured_server& s) {
    json::value v = json::object({{"name", s.name}, {"type", name_of(s.type)}, {"file", s.file}});
    if (!s.address.empty()) v.set("address", s.address);
    if (s.disabled) v.set("disabled", true);
    if (!s.problem.empty()) v.set("problem", s.problem);
    return v;
}

}  // namespace

int list_servers(const options& o) {
    found_servers all = search_config(o);
    if (o.json) {
        json::value list = json::array();
        for (const configured_server& each : all.servers.servers()) list.push_back(as_json(each));
        write_json(json::object({{"servers", std::move(list)}}));
        return exit_status::ok;
    }
    for (const found_servers::searched_file& each : all.files) {
        if (!each.problem.empty()) std::fprintf(stderr, "keel: file ignored: %s\n", printable(each.problem).c_str());
    }
    table t({"NAME", "TYPE", "ADDRESS", "STATUS", "FILE"});
    for (const configured_server& each : all.servers.servers())
        t.add({each.name, name_of(each.type), each.address,
               !each.problem.empty() ? each.problem : std::string(each.disabled ? "disabled" : ""), each.file});
    if (t.empty()) std::fprintf(stderr, "no servers\n%s\n", printable(all.files_text()).c_str());
    write_out(t.text(out_columns()));
    return exit_status::ok;
}

}  // namespace keel::command
