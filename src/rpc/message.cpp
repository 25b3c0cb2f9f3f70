#include "rpc/message.hpp"

#include <cstdio>

namespace keel::rpc {

void request_id::write(std::string& out) const {
    switch (kind_) {
        case kind::absent: out += "null"; break;
        case kind::integer: json::write_int(out, number_); break;
        case kind::unsigned_integer: json::write_uint(out, static_cast<std::uint64_t>(number_)); break;
        case kind::string:
            if (!json::write_string(out, text_)) out += "null";  // only for an id that never was JSON
            break;
    }
}

namespace {

message invalid(message m, const char* problem) {
    m.kind = message_kind::invalid;
    m.code = -32600;
    m.problem = problem;
    return m;
}

// A response is never answered, so a malformed one is still a response: its waiter is told.
message as_response(message m) {
    m.kind = message_kind::response;
    if (m.result && m.error) {
        m.problem = "both result and error";
    } else if (m.result) {
        if (!m.result->is_object()) m.problem = "result is not an object";
    } else if (!m.error->is_object() || !(*m.error)["code"].is_integer() || !(*m.error)["message"].is_string()) {
        m.problem = "malformed error";
    }
    return m;
}

}  // namespace

message classify(const json::value& v) {
    message m;
    if (!v.is_object()) return invalid(std::move(m), "not an object");

    const json::value* version = nullptr;
    const json::value* id = nullptr;
    const json::value* method = nullptr;
    const json::value* params = nullptr;
    for (const json::member& each : v.members()) {
        std::string_view key = each.key();
        if (key == "jsonrpc") version = &each.content;
        else if (key == "id") id = &each.content;
        else if (key == "method") method = &each.content;
        else if (key == "params") params = &each.content;
        else if (key == "result") m.result = &each.content;
        else if (key == "error") m.error = &each.content;
    }
    if (id) m.id = request_id::from(*id);

    if (!version || version->if_string() != std::string_view("2.0")) {
        if (!method && (m.result || m.error)) {  // no reply is due to something that looks like a response
            m = as_response(std::move(m));
            m.problem = "jsonrpc is not \"2.0\"";
            return m;
        }
        return invalid(std::move(m), "jsonrpc is not \"2.0\"");
    }
    if (!method) {
        if (m.result || m.error) return as_response(std::move(m));
        return invalid(std::move(m), "no method");
    }
    if (m.result || m.error) return invalid(std::move(m), "both method and result");
    if (!method->is_string() || method->if_string()->empty()) return invalid(std::move(m), "method is not a name");
    m.method = *method->if_string();
    if (id) {
        if (!m.id.present()) return invalid(std::move(m), "id is neither a string nor an integer");
        m.kind = message_kind::request;
    } else {
        m.kind = message_kind::notification;
    }
    if (params) {
        m.params = params;
        if (!params->is_object()) m.problem = "params is not an object";
    }
    return m;
}

void write_result(std::string& out, const request_id& id, std::string_view result) {
    out += R"({"jsonrpc":"2.0","id":)";
    id.write(out);
    out += R"(,"result":)";
    out += result;
    out += '}';
}

void write_error(std::string& out, const request_id& id, const failure& why) {
    out += R"({"jsonrpc":"2.0")";
    if (id.present()) {
        out += R"(,"id":)";
        id.write(out);
    }
    out += R"(,"error":{"code":)";
    json::write_int(out, why.code);
    out += R"(,"message":)";
    if (!json::write_string(out, why.message)) out += R"("error message is not UTF-8")";
    if (!why.data.is_null()) {
        std::size_t before = out.size();
        out += R"(,"data":)";
        if (!json::write(out, why.data)) out.resize(before);  // an error without its data is better than none
    }
    out += "}}";
}

void write_request(std::string& out, std::int64_t id, std::string_view method, std::string_view params) {
    out += R"({"jsonrpc":"2.0","id":)";
    json::write_int(out, id);
    out += R"(,"method":)";
    if (!json::write_string(out, method)) out += R"("")";
    if (!params.empty()) {
        out += R"(,"params":)";
        out += params;
    }
    out += '}';
}

void write_notification(std::string& out, std::string_view method, std::string_view params) {
    out += R"({"jsonrpc":"2.0","method":)";
    if (!json::write_string(out, method)) out += R"("")";
    if (!params.empty()) {
        out += R"(,"params":)";
        out += params;
    }
    out += '}';
}

request_id find_id(std::string_view beginning) {
    // A scan, not a parse: the text breaks off somewhere. Follow strings and nesting; look at keys of depth one.
    int depth = 0;
    bool expect_key = false;
    for (std::size_t i = 0; i < beginning.size(); ++i) {
        char c = beginning[i];
        if (c == '"') {
            std::size_t start = i;
            for (++i; i < beginning.size() && beginning[i] != '"'; ++i) {
                if (beginning[i] == '\\') ++i;
            }
            if (i >= beginning.size()) return {};
            if (!(depth == 1 && expect_key)) continue;
            expect_key = false;
            if (beginning.substr(start, i - start + 1) != "\"id\"") continue;
            std::size_t colon = beginning.find(':', i + 1);
            if (colon == std::string_view::npos) return {};
            // The value ends at the next comma or brace that is not inside a string.
            std::size_t end = colon + 1;
            for (bool quoted = false; end < beginning.size(); ++end) {
                char e = beginning[end];
                if (quoted && e == '\\') ++end;
                else if (e == '"') quoted = !quoted;
                else if (!quoted && (e == ',' || e == '}')) break;
            }
            if (end >= beginning.size()) return {};
            json::document read;
            const json::value* v = read.read(beginning.substr(colon + 1, end - colon - 1));
            return v ? request_id::from(*v) : request_id();
        }
        if (c == '{' || c == '[') {
            ++depth;
            expect_key = depth == 1 && c == '{';
        } else if (c == '}' || c == ']') {
            --depth;
        } else if (c == ',' && depth == 1) {
            expect_key = true;
        }
    }
    return {};
}

std::string printable(std::string_view text, std::size_t limit) {
    std::string out;
    bool cut = text.size() > limit;
    text = text.substr(0, limit);
    // Do not cut inside a character.
    while (cut && !text.empty() && !json::is_utf8(text) && text.size() + 4 > limit) text.remove_suffix(1);
    bool utf8 = json::is_utf8(text);
    for (char c : text) {
        auto u = static_cast<unsigned char>(c);
        if (u < 0x20 || u == 0x7f || (u >= 0x80 && !utf8)) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\x%02x", u);
            out += escaped;
        } else {
            out += c;
        }
    }
    if (cut) out += "…";
    return out;
}

}  // namespace keel::rpc
