#include "support/message_check.hpp"

#include "protocol/official.hpp"
#include "support/proof.hpp"

#include <algorithm>
#include <mutex>

namespace keel::test {

namespace {

constexpr const char* modern = "2026-07-28";
constexpr const char* latest_legacy = "2025-11-25";
constexpr const char* with_batches = "2025-03-26";

constexpr std::string_view version_key = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view capabilities_key = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view server_info_key = "io.modelcontextprotocol/serverInfo";
constexpr std::string_view subscription_key = "io.modelcontextprotocol/subscriptionId";

std::mutex official_mutex;  // compiled schemas are shared by all checks of the process, and tests have threads

/// Returns "" if the value is valid, otherwise the error. Without the schemas every value is valid.
std::string complaint(const std::string& revision, const std::string& name, const json::value& v) {
    if (!official::available()) return {};
    const schema* checks = nullptr;
    {
        std::lock_guard lock(official_mutex);
        checks = &official::schema_for(revision, name);
    }
    decode_error e;
    if (checks->check(v, e)) return {};
    return "not a " + name + " of " + revision + ": " + e.message();
}

bool ends_with(std::string_view text, std::string_view end) { return text.ends_with(end); }

/// The definitions of a revision by their method: "tools/call" → "CallToolRequest".
const std::map<std::string, std::string, std::less<>>& methods_of(const std::string& revision) {
    static std::map<std::string, std::map<std::string, std::string, std::less<>>> known;
    std::lock_guard lock(official_mutex);
    auto found = known.find(revision);
    if (found != known.end()) return found->second;
    auto& methods = known[revision];
    if (!official::available()) return methods;
    const json::value& all = official::schema_document(revision)[official::definitions_key(revision)];
    for (const json::member& m : all.members()) {
        auto method = m.content["properties"]["method"]["const"].if_string();
        if (method && (ends_with(m.key(), "Request") || ends_with(m.key(), "Notification"))) {
            methods.emplace(std::string(*method), std::string(m.key()));
        }
    }
    return methods;
}

const std::string* definition_for(const std::string& revision, std::string_view method) {
    const auto& methods = methods_of(revision);
    auto at = methods.find(method);
    return at == methods.end() ? nullptr : &at->second;
}

/// "CallToolRequest" → "CallToolResult"; without such a definition the result is an empty one.
std::string result_for(const std::string& revision, const std::string& request) {
    std::string name = request.substr(0, request.size() - std::string_view("Request").size()) + "Result";
    std::lock_guard lock(official_mutex);
    const json::value& all = official::schema_document(revision)[official::definitions_key(revision)];
    return all.contains(name) ? name : "EmptyResult";
}

std::string error_definition(const std::string& revision) {
    return revision == modern || revision == latest_legacy ? "JSONRPCErrorResponse" : "JSONRPCError";
}

/// The capability that a client must have declared for this request; "" if the protocol does not define the request.
std::string_view capability_for(std::string_view method) {
    if (method == "elicitation/create") return "elicitation";
    if (method == "sampling/createMessage") return "sampling";
    if (method == "roots/list") return "roots";
    return "";
}

/// Returns "" if the client has declared the capability.
std::string undeclared(const json::value& capabilities, std::string_view method, const json::value& params) {
    std::string_view needed = capability_for(method);
    if (needed.empty()) return {};
    const json::value* declared = capabilities.find(needed);
    if (!declared) return std::string(method) + " for a client that has not declared " + std::string(needed);
    if (method == "elicitation/create") {
        bool url = params["mode"].if_string() == std::string_view("url");
        bool form_only = !declared->contains("form") && !declared->contains("url");
        if (url ? !declared->contains("url") : !form_only && !declared->contains("form")) {
            return "elicitation in a mode that the client has not declared (ELI-02)";
        }
    }
    if (method == "sampling/createMessage" && (params.contains("tools") || params.contains("toolChoice")) &&
        !declared->contains("tools")) {
        return "tools for a client that has not declared sampling.tools (SAM-02)";
    }
    return {};
}

bool is_cacheable(std::string_view method) {
    return method == "server/discover" || method == "resources/read" || ends_with(method, "/list");
}

}  // namespace

void message_check::complain(const json::value& m, const std::string& why) {
    if (off_.empty()) problems_.push_back(why + "\n    in " + json::to_string(m));
}

std::string message_check::in_force() const {
    if (!session_.empty()) return session_;
    return modern_ ? modern : latest_legacy;
}

// ---- the client ----

void message_check::sent(std::string_view line) {
    json::document doc;
    const json::value* v = doc.read(line);
    if (!v) return;
    if (v->is_array()) {
        for (const json::value& each : v->items()) {
            note_sent(each);
            // The answer is a batch even if a second initialize changes the revision before.
            auto open = asked_.find(json::to_string(each["id"]));
            const bool request = open != asked_.end() && !open->second.empty();
            if (request && !open->second.back().legacy_initialize) open->second.back().revision = with_batches;
        }
    } else {
        note_sent(*v);
    }
}

void message_check::note_sent(const json::value& m) {
    auto method = m["method"].if_string();
    if (!method || !m.contains("id")) return;
    std::string id = json::to_string(m["id"]);
    asked request;
    request.method = std::string(*method);
    const json::value& params = m["params"];
    const json::value& meta = params["_meta"];
    if (meta.contains(version_key)) {
        request.revision = modern;
        request.capabilities = meta[capabilities_key];
        if (session_.empty() && request.method != "server/discover") modern_ = true;
        if (request.method == "subscriptions/listen") listens_.insert(id);
    } else if (request.method == "initialize") {
        request.capabilities = params["capabilities"];
        request.legacy_initialize = true;
    }
    asked_[id].push_back(std::move(request));
}

// ---- the server ----

void message_check::received(const json::value& line) {
    if (!line.is_array()) return check_message(line);
    const bool sent_as_batch = std::any_of(line.items().begin(), line.items().end(), [&](const json::value& each) {
        auto open = asked_.find(json::to_string(each["id"]));
        return open != asked_.end() && !open->second.empty() && open->second.front().revision == with_batches;
    });
    if (in_force() != with_batches && !sent_as_batch) complain(line, "a batch outside of revision 2025-03-26");
    json::value answers = json::array();  // errors without an id are not allowed in a batch: see check_answer
    for (const json::value& each : line.items()) {
        if (each.contains("id")) answers.push_back(each);
    }
    if (auto why = complaint(with_batches, "JSONRPCBatchResponse", answers); !why.empty()) complain(line, why);
    for (const json::value& each : line.items()) check_message(each);
}

void message_check::check_message(const json::value& m) {
    if (!m.contains("method")) return check_answer(m);
    if (m.contains("id")) check_request(m);
    else check_notification(m);
}

void message_check::note_answer(const asked& to) const {
    bool agreed = !session_.empty() && to.revision == session_;
    bool said_so = session_.empty() && to.revision == modern;
    if (agreed || said_so) spoke(to.revision);  // otherwise it is a guess, or a refused request of the other era
}

void message_check::check_answer(const json::value& m) {
    const json::value* id = m.find("id");
    if (!id) {
        // An error without an id. Revisions before 2025-11-25 do not define it, nor any other form (E0).
        return check_error(m, modern_ && session_.empty() ? modern : latest_legacy);
    }
    std::vector<asked>& open = asked_[json::to_string(*id)];
    if (open.empty()) {  // the request arrived in pieces that were not joined here; the tap counts the answers
        if (auto why = complaint(in_force(), "JSONRPCMessage", m); !why.empty()) complain(m, why);
        return;
    }
    // An id may be in use twice: after its request was cancelled, or if a second one is refused.
    std::string why;
    for (auto at = open.begin(); at != open.end(); ++at) {
        asked to = *at;
        if (to.legacy_initialize) {
            auto agreed = m["result"]["protocolVersion"].if_string();
            to.revision = agreed ? std::string(*agreed) : in_force();
        } else if (to.revision.empty()) {
            to.revision = in_force();
        }
        if (m.contains("error")) {
            note_answer(to);
            open.erase(at);
            return check_error(m, to.revision);
        }
        why = complaint_about_result(to, m);
        if (!why.empty()) continue;
        if (to.legacy_initialize) {
            session_ = to.revision;
            // After a second initialize, running requests may still ask their own client.
            client_capabilities_.push_back(to.capabilities);
            server_capabilities_ = m["result"]["capabilities"];
        }
        note_answer(to);
        open.erase(at);
        return;
    }
    complain(m, why);
}

std::string message_check::complaint_about_result(const asked& to, const json::value& m) const {
    static const std::set<std::string> revisions = {"2024-11-05", with_batches, "2025-06-18", latest_legacy, modern};
    if (!revisions.contains(to.revision)) return "an unknown revision: " + to.revision;
    if (auto why = complaint(to.revision, "JSONRPCMessage", m); !why.empty()) return why;
    const json::value& result = m["result"];
    if (to.revision == modern) {
        if (auto why = complaint_about_modern_result(to, result); !why.empty()) return why;
        if (result["resultType"].if_string() == std::string_view("input_required")) {
            return complaint_about_questions(to, result);
        }
    }
    const std::string* request = definition_for(to.revision, to.method);
    if (!request) return {};  // a custom method of the test
    return complaint(to.revision, result_for(to.revision, *request), result);
}

std::string message_check::complaint_about_modern_result(const asked& to, const json::value& result) const {
    auto type = result["resultType"].if_string();
    if (!type) return "a result without resultType (BASE-10)";
    if (*type != "complete" && *type != "input_required") return "a resultType that does not exist (BASE-10)";
    if (!result["_meta"].contains(server_info_key)) return "a result without serverInfo (VER-18)";
    bool has_hint = result.contains("ttlMs") || result.contains("cacheScope");
    if (*type == "input_required" && has_hint) return "a cache hint on an input_required result (CACHE-01)";
    if (*type == "complete" && is_cacheable(to.method) && definition_for(modern, to.method)) {
        if (!result["ttlMs"].is_number() || result["ttlMs"].as_double() < 0) return "no ttlMs (CACHE-01)";
        auto scope = result["cacheScope"].if_string();
        if (scope != std::string_view("public") && scope != std::string_view("private")) {
            return "no cacheScope (CACHE-01)";
        }
    }
    return {};
}

std::string message_check::complaint_about_questions(const asked& to, const json::value& result) const {
    if (to.method != "tools/call" && to.method != "prompts/get" && to.method != "resources/read") {
        return "input_required as the answer to " + to.method + " (MRTR-02)";
    }
    if (!result.contains("inputRequests") && !result.contains("requestState")) {
        return "input_required with neither inputRequests nor requestState (MRTR-03)";
    }
    for (const json::member& m : result["inputRequests"].members()) {
        auto why = undeclared(to.capabilities, m.content["method"].if_string().value_or(""), m.content["params"]);
        if (!why.empty()) return why + " (MRTR-05)";
    }
    return complaint(modern, "InputRequiredResult", result);
}

void message_check::check_error(const json::value& m, const std::string& revision) {
    if (auto why = complaint(revision, "JSONRPCMessage", m); !why.empty()) complain(m, why);
    if (auto why = complaint(revision, error_definition(revision), m); !why.empty()) complain(m, why);
    if (revision != modern || !m["error"]["code"].is_number()) return;
    auto code = static_cast<int>(m["error"]["code"].as_double());
    std::string named;
    if (code == -32022) named = "UnsupportedProtocolVersionError";
    else if (code == -32021) named = "MissingRequiredClientCapabilityError";
    else if (code == -32002 || code == -32042) complain(m, "a code of older revisions (BASE-14)");
    else if (code <= -32020 && code >= -32099) complain(m, "a code that the specification keeps (BASE-13)");
    if (named.empty()) return;
    if (auto why = complaint(modern, named, m); !why.empty()) complain(m, why);
}

void message_check::check_request(const json::value& m) {
    questions_.insert(json::to_string(m["id"]));
    const std::string revision = in_force();
    if (revision == modern) return complain(m, "a request of the server's (BASE-16)");
    if (auto why = complaint(revision, "JSONRPCMessage", m); !why.empty()) complain(m, why);
    std::string_view method = m["method"].if_string().value_or("");
    const std::string* definition = definition_for(revision, method);
    if (definition) {  // otherwise a custom method of the test
        if (auto why = complaint(revision, *definition, m); !why.empty()) complain(m, why);
        if (auto why = complaint(revision, "ServerRequest", m); !why.empty()) complain(m, why);
    }
    std::string why = undeclared({}, method, m["params"]);
    for (const json::value& client : client_capabilities_.items()) {
        if (why = undeclared(client, method, m["params"]); why.empty()) break;
    }
    if (!why.empty()) complain(m, why);
}

void message_check::check_notification(const json::value& m) {
    const std::string revision = in_force();
    if (auto why = complaint(revision, "JSONRPCMessage", m); !why.empty()) complain(m, why);
    std::string_view method = m["method"].if_string().value_or("");
    const std::string* definition = definition_for(revision, method);
    if (definition) {
        if (auto why = complaint(revision, *definition, m); !why.empty()) complain(m, why);
        if (auto why = complaint(revision, "ServerNotification", m); !why.empty()) complain(m, why);
    } else if (official::available()) {
        // Of another revision, or not defined at all: older schemas allow such members, but the name is reserved.
        if (method.starts_with("notifications/")) complain(m, "no notification of revision " + revision);
        return;
    }
    if (revision == modern) spoke(modern);  // a listen may have no other answer than its notifications
    if (method == "notifications/cancelled") {
        const auto& ours = revision == modern ? listens_ : questions_;
        if (!ours.contains(json::to_string(m["params"]["requestId"]))) {
            complain(m, "a cancellation of something that is not the server's (CAN-01, SUB-05)");
        }
    } else if (method == "notifications/message" && revision != modern) {
        if (!server_capabilities_.contains("logging")) complain(m, "logging was not declared (LOG-01)");
    } else if (revision == modern &&
               (method == "notifications/resources/updated" || ends_with(method, "list_changed") ||
                method == "notifications/subscriptions/acknowledged")) {
        if (!listens_.contains(json::to_string(m["params"]["_meta"][subscription_key]))) {
            complain(m, "no subscriptionId of a listen (SUB-03)");
        }
    }
}

}  // namespace keel::test
