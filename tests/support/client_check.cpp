#include "support/client_check.hpp"

#include "protocol/official.hpp"

#include <mutex>
#include <optional>

namespace keel::test {

namespace {

constexpr const char* modern = "2026-07-28";
constexpr const char* revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", modern};
constexpr std::string_view version_key = "io.modelcontextprotocol/protocolVersion";

std::mutex official_mutex;  // compiled schemas are shared by all checks of the process, and tests have threads

const schema& compiled(const std::string& revision, const std::string& name) {
    std::lock_guard lock(official_mutex);
    return official::schema_for(revision, name);
}

bool defines(const std::string& revision, const std::string& name) {
    if (!official::available()) return false;
    std::lock_guard lock(official_mutex);
    return official::schema_document(revision)[official::definitions_key(revision)].contains(name);
}

bool is_revision(std::string_view name) {
    for (const char* each : revisions) {
        if (name == each) return true;
    }
    return false;
}

/// "tools/call" → "CallToolRequest"; nothing if the revision does not have the method.
std::optional<std::string> definition_of(const std::string& revision, std::string_view method) {
    if (!official::available()) return std::nullopt;
    std::lock_guard lock(official_mutex);
    const json::value& all = official::schema_document(revision)[official::definitions_key(revision)];
    for (const json::member& m : all.members()) {
        if (m.content["properties"]["method"]["const"].if_string() != method) continue;
        if (m.key().ends_with("Request") || m.key().ends_with("Notification")) return std::string(m.key());
    }
    return std::nullopt;
}

}  // namespace

void client_check::complain(const json::value& m, const std::string& why) {
    problems_.push_back(why + "\n    in " + json::to_string(m));
}

void client_check::must_fit(const std::string& revision, const std::string& name, const json::value& m) {
    if (!official::available()) return;
    decode_error e;
    if (compiled(revision, name).check(m, e)) return;
    complain(m, "not a " + name + " of " + revision + ": " + e.message());
}

bool client_check::is_foreign(const std::string& revision, std::string_view method) const {
    if (definition_of(revision, method)) return false;
    for (const char* each : revisions) {
        if (definition_of(each, method)) return true;
    }
    return false;
}

std::string client_check::in_force() const {
    if (!session_.empty()) return session_;
    return offered_.empty() ? modern : offered_;
}

// ---- the server ----

void client_check::heard(std::string_view line) {
    json::document doc;
    const json::value* v = doc.read(line);
    if (!v) return;
    if (v->is_array()) {
        for (const json::value& each : v->items()) note_heard(each);
    } else {
        note_heard(*v);
    }
}

void client_check::note_heard(const json::value& m) {
    if (!m.contains("id")) {
        // A cancelled request must not be answered (CAN-04).
        if (m["method"].if_string() == "notifications/cancelled")
            questions_.erase(json::to_string(m["params"]["requestId"]));
        return;
    }
    std::string id = json::to_string(m["id"]);
    if (auto method = m["method"].if_string()) {
        questions_.emplace(id, *method);
        return;
    }
    auto asked = open_.find(id);
    if (asked == open_.end()) return;
    if (asked->second == "initialize") {
        auto agreed = m["result"]["protocolVersion"].if_string();
        if (agreed && is_revision(*agreed)) session_ = *agreed;
        offered_.clear();
    }
    open_.erase(asked);
}

// ---- the client ----

void client_check::wrote(const json::value& m) {
    if (m.is_array() && in_force() == "2025-03-26") {
        must_fit("2025-03-26", "JSONRPCBatchResponse", m);  // only responses (BASE-09)
        for (const json::value& each : m.items()) check_answer(each);
        return;
    }
    if (!m.is_object()) return complain(m, "no single message (BASE-01, BASE-09)");
    if (!m.contains("method")) return check_answer(m);
    if (m.contains("id")) check_request(m);
    else check_notification(m);
}

void client_check::check_request(const json::value& m) {
    std::string id = json::to_string(m["id"]);
    std::string_view method = m["method"].if_string().value_or("");
    // The schemas accept an id of null, as a notification with an additional member.
    if (!m["id"].is_string() && !m["id"].if_int()) complain(m, "an id that is neither text nor integer (BASE-02)");
    if (!used_.insert(id).second) complain(m, "an id that was used before (BASE-03, BASE-04)");
    open_.emplace(id, method);
    auto said = m["params"]["_meta"][version_key].if_string();
    std::string revision = in_force();
    if (method == "initialize") {
        auto version = m["params"]["protocolVersion"].if_string().value_or("");
        if (!is_revision(version) || version == modern) return complain(m, "a version that is no older one (LIFE-01)");
        revision = offered_ = version;
        session_.clear();
        confirmed_ = false;
    } else if (said) {
        if (*said != modern) return complain(m, "a version that does not exist (VER-07)");
        if (!session_.empty()) complain(m, "a request of the other era (LIFE-04)");
        revision = modern;
    } else if (revision == modern) {
        complain(m, "a request without a version (VER-07)");
    } else if (!confirmed_ && method != "ping") {
        complain(m, "a request before the handshake is done (LIFE-10)");
    }
    must_fit(revision, "JSONRPCMessage", m);
    if (auto name = definition_of(revision, method)) {
        must_fit(revision, *name, m);
        must_fit(revision, "ClientRequest", m);
    } else if (is_foreign(revision, method)) {
        complain(m, "no request of " + revision + " (LIFE-04)");
    } else if (revision == modern) {
        must_fit(modern, "RequestParams", m["params"]);  // of custom methods too (VER-07)
    }
}

void client_check::check_notification(const json::value& m) {
    const std::string revision = in_force();
    std::string_view method = m["method"].if_string().value_or("");
    must_fit(revision, "JSONRPCMessage", m);
    if (auto name = definition_of(revision, method)) {
        must_fit(revision, *name, m);
        must_fit(revision, "ClientNotification", m);
    } else if (is_foreign(revision, method)) {
        complain(m, "no notification of " + revision + " (LIFE-04)");
    }
    if (method == "notifications/initialized") {
        if (session_.empty() || confirmed_) complain(m, "not after a handshake (LIFE-03)");
        confirmed_ = true;
    } else if (method == "notifications/cancelled") {
        auto asked = open_.find(json::to_string(m["params"]["requestId"]));
        if (asked == open_.end()) return complain(m, "a cancellation of no open request (CAN-01)");
        if (asked->second == "initialize") complain(m, "a cancelled handshake (LIFE-05)");
    }
}

void client_check::check_answer(const json::value& m) {
    const std::string revision = in_force();
    if (revision == modern) return complain(m, "an answer in 2026-07-28 (BASE-17)");
    must_fit(revision, "JSONRPCMessage", m);
    auto question = questions_.find(json::to_string(m["id"]));
    if (question == questions_.end()) return complain(m, "an answer to nothing (BASE-05, BASE-07)");
    std::string method = question->second;
    questions_.erase(question);
    if (m.contains("error")) {
        return must_fit(revision, defines(revision, "JSONRPCErrorResponse") ? "JSONRPCErrorResponse" : "JSONRPCError",
                        m);
    }
    auto request = definition_of(revision, method);
    if (!request) return;
    std::string name = request->substr(0, request->size() - std::string_view("Request").size()) + "Result";
    must_fit(revision, defines(revision, name) ? name : "EmptyResult", m["result"]);
}

}  // namespace keel::test
