#include "rpc/message.hpp"

#include <keel/error.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace keel::inline KEEL_ABI::rpc {

void request_id::write(std::string& out) const {
    switch (kind_) {
        case kind::absent: out += "null"; break;
        case kind::integer: json::write_int(out, number_); break;
        case kind::unsigned_integer: json::write_uint(out, static_cast<std::uint64_t>(number_)); break;
        case kind::string:
            if (!json::write_string(out, text_)) out += "null";  // cannot happen for an id that was received
            break;
    }
}

namespace {

void be_invalid(message& m, const char* problem) {
    m.kind = message_kind::invalid;
    m.code = -32600;
    m.problem = problem;
}

// A malformed response is still classified as a response: it is never answered, and its call fails.
void be_response(message& m) {
    m.kind = message_kind::response;
    if (m.result && m.error) {
        m.problem = "both result and error";
    } else if (m.result) {
        if (!m.result->is_object()) m.problem = "result is not an object";
    } else if (!m.error->is_object() || !(*m.error)["code"].is_integer() || !(*m.error)["message"].is_string()) {
        m.problem = "malformed error";
    }
}

/// The members of a message that JSON-RPC defines.
struct known_members {
    const json::value* version = nullptr;
    const json::value* id = nullptr;
    const json::value* method = nullptr;
    const json::value* params = nullptr;
    const json::value* result = nullptr;
    const json::value* error = nullptr;

    explicit known_members(const json::value& v) noexcept {
        for (const json::member& each : v.members()) {
            std::string_view key = each.key();
            if (key.size() == 6) {
                if (key == "method") method = &each.content;
                else if (key == "params") params = &each.content;
                else if (key == "result") result = &each.content;
            } else if (key == "id") {
                id = &each.content;
            } else if (key == "jsonrpc") {
                version = &each.content;
            } else if (key == "error") {
                error = &each.content;
            }
        }
    }
};

void sort_out(message& m, const known_members& has) {
    if (!has.version || has.version->if_string() != std::string_view("2.0")) {
        if (has.method || !(m.result || m.error)) return be_invalid(m, "jsonrpc is not \"2.0\"");
        be_response(m);  // a response is never answered
        m.problem = "jsonrpc is not \"2.0\"";
        return;
    }
    if (!has.method) {
        if (m.result || m.error) return be_response(m);
        return be_invalid(m, "no method");
    }
    if (m.result || m.error) return be_invalid(m, "both method and result");
    auto method = has.method->if_string();
    if (!method || method->empty()) return be_invalid(m, "method is not a name");
    m.method = *method;
    if (has.id && !m.id.present()) return be_invalid(m, "id is neither a string nor an integer");
    m.kind = has.id ? message_kind::request : message_kind::notification;
    if (has.params && !has.params->is_null()) {  // Go's client sends null for absent parameters
        m.params = has.params;
        if (!has.params->is_object()) m.problem = "params is not an object";
    }
}

}  // namespace

message classify(const json::value& v) {
    const known_members has(v);
    message m;
    if (has.id) m.id.assign(*has.id);
    m.names_method = has.method != nullptr;
    m.result = has.result;
    m.error = has.error;
    if (v.is_object()) sort_out(m, has);
    else be_invalid(m, "not an object");
    return m;
}

namespace {

/// Collects small pieces and appends them together, which is faster than one by one.
class gatherer {
public:
    explicit gatherer(std::string& out) noexcept : out_(out) {}
    [[gnu::always_inline]] void add(std::string_view piece) {
        if (piece.empty()) return;  // its data may be null
        if (piece.size() > static_cast<std::size_t>(room_ + sizeof(room_) - at_)) {
            flush();
            if (piece.size() > sizeof(room_)) {
                out_ += piece;
                return;
            }
        }
        std::memcpy(at_, piece.data(), piece.size());
        at_ += piece.size();
    }
    void add(std::int64_t n) {
        if (room_ + sizeof(room_) - at_ < longest_number) flush();
        at_ = std::to_chars(at_, room_ + sizeof(room_), n).ptr;
    }
    void flush() {
        out_.append(room_, static_cast<std::size_t>(at_ - room_));
        at_ = room_;
    }

private:
    static constexpr std::ptrdiff_t longest_number = 20;
    std::string& out_;
    char* at_ = room_;
    char room_[240];
};

}  // namespace

void write_result(std::string& out, const request_id& id, text_pieces result) {
    gatherer g(out);
    g.add(R"({"jsonrpc":"2.0","id":)");
    if (id.is_integer()) {
        g.add(id.number());
    } else {
        g.flush();
        id.write(out);
    }
    g.add(R"(,"result":)");
    for (std::string_view piece : result) g.add(piece);
    g.add("}");
    g.flush();
}

void write_large_result(std::string& out, const request_id& id, text_pieces result, std::string& body) {
    constexpr std::size_t nearly_empty = 4096;
    if (out.size() > nearly_empty) return write_result(out, id, result);
    std::string front;
    write_result(front, id, result.first(1));
    front.pop_back();  // the closing brace
    front.insert(0, out);
    std::string end(result[2]);
    end += '}';
    if (body.capacity() - body.size() < front.size() + end.size()) return write_result(out, id, result);
    body.insert(0, front);
    body += end;
    out.swap(body);
}

failure shutting_down_error(role receiver) {
    return {error_code::internal, receiver == role::server ? "server shutting down" : "client shutting down", {}};
}

failure refused_by_shutdown_error() { return {error_code::internal, "shutting down", {}}; }

failure overloaded_error(std::string message) {
    return {error_code::internal, std::move(message), json::object({{"reason", "overloaded"}})};
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
        if (!json::write(out, why.data)) out.resize(before);  // rather an error without its data than no error
    }
    out += "}}";
}

void begin_request(std::string& out, std::int64_t id, std::string_view method) {
    out += R"({"jsonrpc":"2.0","id":)";
    json::write_int(out, id);
    out += R"(,"method":)";
    if (!json::write_string(out, method)) out += R"("")";
}

void write_request(std::string& out, std::int64_t id, std::string_view method, std::string_view params) {
    begin_request(out, id, method);
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

truncated_message read_truncated(std::string_view beginning) {
    // A scanner, because the text is truncated: it follows strings and nesting, and reads the keys of the top-level object.
    truncated_message seen;
    std::size_t start = beginning.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos || beginning[start] != '{') return seen;
    auto end_of_string = [&](std::size_t i) {  // i: its opening quote; the closing one, or the end of the text
        for (++i; i < beginning.size() && beginning[i] != '"'; ++i) {
            if (beginning[i] == '\\') ++i;
        }
        return std::min(i, beginning.size());
    };
    int depth = 1;
    bool expect_key = true;
    std::size_t id_from = 0;  // start of the id, while the scan is inside it
    for (std::size_t i = start + 1; i < beginning.size() && depth > 0; ++i) {
        char c = beginning[i];
        if (id_from != 0 && depth == 1 && (c == ',' || c == '}')) {
            json::document read;
            const json::value* v = read.read(beginning.substr(id_from, i - id_from));
            seen.id = v ? request_id::from(*v) : request_id();
            id_from = 0;
        }
        if (c == '"') {
            std::size_t end = end_of_string(i);
            std::string_view text = beginning.substr(i + 1, end - i - 1);
            bool whole = end < beginning.size();
            if (depth == 1 && expect_key && whole) {
                expect_key = false;
                if (text == "method") seen.method = true;
                if (text == "result" || text == "error") seen.result = true;
                if (text == "id") {
                    std::size_t colon = beginning.find_first_not_of(" \t\r\n", end + 1);
                    if (colon == std::string_view::npos || beginning[colon] != ':') return seen;
                    end = colon;
                    id_from = colon + 1;
                }
            }
            i = end;
        } else if (c == '{' || c == '[') {
            ++depth;
        } else if (c == '}' || c == ']') {
            --depth;
        } else if (c == ',' && depth == 1) {
            expect_key = true;
        }
    }
    return seen;
}

const char* batch_problem(const json::value& v, bool supported, std::size_t max_size) noexcept {
    if (!supported) return batches_unsupported;
    if (v.empty()) return "empty batch";
    return v.size() > max_size ? "batch too large" : nullptr;
}

std::string printable(std::string_view text, std::size_t limit) {
    std::string out;
    bool cut = text.size() > limit;
    text = text.substr(0, limit);
    // Do not cut inside a character.
    while (cut && !text.empty() && !json::is_utf8(text) && text.size() + 4 > limit) text.remove_suffix(1);
    bool utf8 = json::is_utf8(text);
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto u = static_cast<unsigned char>(text[i]);
        // U+0080 to U+009F (C2 80 to C2 9F) are control characters too.
        if (utf8 && u == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(text[++i]));
            out += escaped;
        } else if (u < 0x20 || u == 0x7f || (u >= 0x80 && !utf8)) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\x%02x", u);
            out += escaped;
        } else {
            out += text[i];
        }
    }
    if (cut) out += "…";
    return out;
}

}  // namespace keel::rpc
