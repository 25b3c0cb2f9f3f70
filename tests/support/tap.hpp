#pragma once

// Records the messages on a scripted connection and checks the rules for them.

#include "support/message_check.hpp"
#include "support/scripted_connection.hpp"

#include <keel/json.hpp>

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Makes a failing comparison print the frames.
template <>
struct doctest::StringMaker<std::vector<std::string>> {
    static doctest::String convert(const std::vector<std::string>& all) {
        std::string out;
        for (const std::string& each : all) out += "\n    " + each;
        return out.c_str();
    }
};

namespace keel::test {

using lines = std::vector<std::string>;

// ---- messages as a peer writes them; ids and params are JSON texts ----

inline std::string request_line(std::string_view id, std::string_view method, std::string_view params = "") {
    std::string out = R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":")" + std::string(method) + '"';
    if (!params.empty()) out += R"(,"params":)" + std::string(params);
    return out + "}";
}
inline std::string notification_line(std::string_view method, std::string_view params = "") {
    std::string out = R"({"jsonrpc":"2.0","method":")" + std::string(method) + '"';
    if (!params.empty()) out += R"(,"params":)" + std::string(params);
    return out + "}";
}
/// If `token` is empty, no progress is requested.
inline std::string call_line(std::string_view id, std::string_view tool, std::string_view arguments = "{}",
                             std::string_view token = "") {
    std::string params = R"({"name":")" + std::string(tool) + R"(","arguments":)" + std::string(arguments);
    if (!token.empty()) params += R"(,"_meta":{"progressToken":)" + std::string(token) + "}";
    return request_line(id, "tools/call", params + "}");
}
/// `_meta` of a request of 2026-07-28, with any version (as JSON).
inline std::string meta_with(std::string_view version, std::string_view capabilities = "{}") {
    return R"("_meta":{"io.modelcontextprotocol/protocolVersion":)" + std::string(version) +
           R"(,"io.modelcontextprotocol/clientCapabilities":)" + std::string(capabilities) + "}";
}
/// `more` contains additional members.
inline std::string modern_meta(std::string_view more = "") {
    std::string out = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                      R"("io.modelcontextprotocol/clientCapabilities":{})";
    if (!more.empty()) out += "," + std::string(more);
    return out + "}";
}
inline std::string modern_line(std::string_view id, std::string_view method, std::string_view params = "",
                               std::string_view more_meta = "") {
    std::string all = "{" + std::string(params);
    if (!params.empty()) all += ",";
    return request_line(id, method, all + modern_meta(more_meta) + "}");
}
inline std::string modern_call_line(std::string_view id, std::string_view tool, std::string_view arguments = "{}",
                                    std::string_view token = "") {
    return modern_line(id, "tools/call",
                       R"("name":")" + std::string(tool) + R"(","arguments":)" + std::string(arguments),
                       token.empty() ? std::string() : R"("progressToken":)" + std::string(token));
}
inline std::string cancel_line(std::string_view id, std::string_view reason = "") {
    std::string params = R"({"requestId":)" + std::string(id);
    if (!reason.empty()) params += R"(,"reason":)" + json::to_string(reason);
    return notification_line("notifications/cancelled", params + "}");
}
inline std::string result_line(std::string_view id, std::string_view result = "{}") {
    return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":)" + std::string(result) + "}";
}
inline std::string error_line(std::string_view id, int code, std::string_view message) {
    std::string out = R"({"jsonrpc":"2.0")";
    if (!id.empty()) out += R"(,"id":)" + std::string(id);
    return out + R"(,"error":{"code":)" + std::to_string(code) + R"(,"message":")" + std::string(message) + "\"}}";
}
inline std::string progress_line(std::string_view token, std::string_view progress) {
    return notification_line("notifications/progress", R"({"progressToken":)" + std::string(token) + R"(,"progress":)" +
                                                           std::string(progress) + "}");
}

/// The messages on a connection: JSON-RPC with custom methods of a test, or MCP, which has schemas.
enum class language : unsigned char { rpc, mcp };

/// Every message that was written completely. Checks that a request has at most one answer, that no message about a
/// request follows its answer, and that every message matches the official schema of the revision in use.
class tap {
public:
    explicit tap(std::shared_ptr<script> wire, language spoken = language::rpc)
        : wire_(std::move(wire)), has_schemas_(spoken == language::mcp) {}

    /// Turns the schema check off: this test sends invalid messages on purpose.
    void expect_off_schema(std::string reason) { schemas_.expect_off_schema(std::move(reason)); }

    /// Must be called before bytes are fed, so that the requests are known.
    void note_input(std::string_view bytes) {
        read();
        while (!bytes.empty()) {
            std::size_t end = bytes.find('\n');
            note_line(bytes.substr(0, end));
            if (end == std::string_view::npos) return;
            bytes.remove_prefix(end + 1);
        }
    }

    const lines& all() {
        read();
        return frames_;
    }
    /// The messages since the last take.
    lines take() {
        read();
        lines fresh(frames_.begin() + static_cast<std::ptrdiff_t>(taken_), frames_.end());
        taken_ = frames_.size();
        return fresh;
    }
    /// Bytes of a message that is not complete yet.
    const std::string& partial() {
        read();
        return partial_;
    }

    std::size_t answers_to(std::string_view id) {
        read();
        return answers_[std::string(id)];
    }
    /// A summary of the last answer to that id: a tool's text, the JSON of another result, "error CODE MESSAGE", or
    /// "-".
    std::string answer(std::string_view id) {
        json::value v = answer_message(id);
        if (v.is_null()) return "-";
        if (const json::value* e = v.find("error")) {
            return "error " + std::to_string((*e)["code"].as_int()) + " " + std::string((*e)["message"].as_string());
        }
        const json::value& result = v["result"];
        if (result["content"].is_array() && result["content"].size() > 0) {
            std::string text(result["content"].at(0)["text"].if_string().value_or("?"));
            return result["isError"].if_bool().value_or(false) ? "failed: " + text : text;
        }
        return json::to_string(result);
    }
    /// The whole message, or null.
    json::value answer_message(std::string_view id) {
        read();
        auto at = last_answer_.find(std::string(id));
        return at == last_answer_.end() ? json::value() : json::parse(at->second);
    }
    /// Messages with that method, in order.
    std::vector<json::value> with_method(std::string_view method) {
        read();
        std::vector<json::value> found;
        for (const std::string& frame : frames_) {
            json::value v = json::parse(frame);
            if (v["method"].if_string() == method) found.push_back(std::move(v));
        }
        return found;
    }
    bool mentions(std::string_view text) {
        read();
        for (const std::string& frame : frames_) {
            if (frame.find(text) != std::string::npos) return true;
        }
        return partial_.find(text) != std::string::npos;
    }

    void check_ledger() {
        read();
        for (const std::string& problem : problems_) FAIL_CHECK(problem);
        for (const std::string& problem : schemas_.problems()) FAIL_CHECK(problem);
    }

private:
    void note_line(std::string_view line) {
        if (has_schemas_) schemas_.sent(line);
        json::document doc;
        const json::value* v = doc.read(line);
        if (!v) return;
        if (v->is_array()) {
            for (const json::value& each : v->items()) note_request(each);
        } else {
            note_request(*v);
        }
    }
    void note_request(const json::value& v) {
        if (!v.contains("id") || v.contains("result") || v.contains("error")) return;
        std::string id = json::to_string(v["id"]);
        ++asked_[id];
        const json::value& token = v["params"]["_meta"]["progressToken"];
        if (!token.is_null()) owner_of_token_[json::to_string(token)] = id;
    }

    void read() {
        partial_ += wire_->take_output();
        std::size_t from = 0;
        for (std::size_t end; (end = partial_.find('\n', from)) != std::string::npos; from = end + 1) {
            note_frame(partial_.substr(from, end - from));
        }
        partial_.erase(0, from);
    }
    void note_frame(std::string text) {
        json::document doc;
        const json::value* v = doc.read(text);
        if (!v) {
            problems_.push_back("not JSON: " + text);
        } else if (v->is_array()) {
            for (const json::value& each : v->items()) note_message(each);
        } else {
            note_message(*v);
        }
        if (v && has_schemas_) schemas_.received(*v);
        frames_.push_back(std::move(text));
    }
    void note_message(const json::value& v) {
        std::string text = json::to_string(v);
        if (v["jsonrpc"].if_string() != std::string_view("2.0")) problems_.push_back("no version: " + text);
        if (v["method"].is_string()) {
            if (v["method"].as_string() == "notifications/progress") {
                auto owner = owner_of_token_.find(json::to_string(v["params"]["progressToken"]));
                if (owner == owner_of_token_.end()) problems_.push_back("progress nobody asked for: " + text);
                else if (answers_[owner->second] >= asked_[owner->second])
                    problems_.push_back("progress after the answer: " + text);
            }
            return;
        }
        if (v.contains("result") == v.contains("error"))
            problems_.push_back("neither result nor error, or both: " + text);
        if (!v.contains("id")) return;
        std::string id = json::to_string(v["id"]);
        last_answer_[id] = text;
        if (++answers_[id] > asked_[id]) problems_.push_back("one answer too many: " + text);
    }

    std::shared_ptr<script> wire_;
    bool has_schemas_;
    message_check schemas_;
    std::string partial_;
    lines frames_;
    std::size_t taken_ = 0;
    std::map<std::string, std::size_t> asked_;
    std::map<std::string, std::size_t> answers_;
    std::map<std::string, std::string> last_answer_;
    std::map<std::string, std::string> owner_of_token_;
    lines problems_;
};

}  // namespace keel::test
