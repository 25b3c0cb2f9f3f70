// keel resources, keel read

#include "commands.hpp"
#include "exit_status.hpp"
#include "printable.hpp"
#include "show.hpp"
#include "table.hpp"

#include <keel/base64.hpp>

namespace keel::command {

namespace {

int list_templates(command_session& s) {
    if (s.how().json) {
        write_json(whole_list(s, "resources/templates/list", "resourceTemplates"));
        return exit_status::ok;
    }
    table t({"URI", "NAME", "TYPE", "DESCRIPTION"});
    for (const resource_template& each : s.client().list_resource_templates(s.call()))
        t.add({each.uri_template, each.name, each.mime_type, each.description});
    if (t.empty()) s.screen().say("no templates");
    write_out(t.text(out_columns()));
    return exit_status::ok;
}

// Into a file or a pipe, write the content and nothing else.
void write_raw(const resource_contents& what) {
    if (what.text) return write_out(*what.text);
    auto bytes = base64_decode(what.blob.value_or(""));
    if (!bytes) throw error(error_kind::bad_message, "the server sent invalid Base64 in a resource");
    write_out(*bytes);
}

}  // namespace

int list_resources(command_session& s) {
    if (s.how().templates) return list_templates(s);
    if (s.how().json) {
        write_json(whole_list(s, "resources/list", "resources"));
        return exit_status::ok;
    }
    table t({"URI", "NAME", "TYPE", "SIZE", "DESCRIPTION"});
    for (const resource& each : s.client().list_resources(s.call())) {
        std::string size = each.size && *each.size >= 0 ? shown_size(static_cast<std::size_t>(*each.size)) : "";
        t.add({each.uri, each.name, each.mime_type, size, each.description});
    }
    if (t.empty()) s.screen().say("no resources");
    write_out(t.text(out_columns()));
    return exit_status::ok;
}

int read_resource(command_session& s) {
    const std::string& uri = s.how().words[0];
    if (s.how().json) {
        json::value result = s.client().request("resources/read", json::object({{"uri", uri}}), s.call());
        s.screen().clear_status();
        write_json(result);
        return exit_status::ok;
    }
    auto contents = s.client().read_resource(uri, s.call());
    s.screen().clear_status();
    bool terminal = out_columns() != 0;
    for (const resource_contents& each : contents) {
        if (!terminal) write_raw(each);
        else write_out((contents.size() > 1 ? "[" + printable_line(each.uri) + "]\n" : "") + shown(each));
    }
    return exit_status::ok;
}

}  // namespace keel::command
