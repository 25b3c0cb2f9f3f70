#include "settings.hpp"

#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>

#include <pthread.h>

namespace keel::subject {

namespace {

using setter = std::function<void(settings&, const std::string&)>;

template <class Member>
setter number(Member find) {
    return [find](settings& s, const std::string& text) { find(s) = std::stoul(text); };
}

template <class Member>
setter time(Member find) {
    return [find](settings& s, const std::string& text) { find(s) = std::chrono::milliseconds(std::stol(text)); };
}

/// "Authorization: Bearer NAME" identifies NAME; other requests are refused.
std::optional<std::string> bearer(const http_request& r) {
    std::optional<std::string_view> said = r.header("Authorization");
    constexpr std::string_view scheme = "Bearer ";
    if (!said || !said->starts_with(scheme)) return {};
    return std::string(said->substr(scheme.size()));
}

#define KEEL_SUBJECT_NUMBER(where, name) {#name, number([](settings& s) -> auto& { return s.where.name; })}
#define KEEL_SUBJECT_TIME(where, name) {#name, time([](settings& s) -> auto& { return s.where.name; })}

const std::map<std::string, setter, std::less<>>& setters() {
    static const std::map<std::string, setter, std::less<>> all = {
        KEEL_SUBJECT_NUMBER(server.limits, max_in_flight),
        KEEL_SUBJECT_NUMBER(server.limits, max_in_flight_total),
        KEEL_SUBJECT_NUMBER(server.limits, out_queue),
        KEEL_SUBJECT_NUMBER(server.limits, out_queue_soft),
        KEEL_SUBJECT_NUMBER(server.limits, max_listens),
        KEEL_SUBJECT_NUMBER(server.limits, max_subscriptions),
        KEEL_SUBJECT_TIME(server.limits, write_stall),
        KEEL_SUBJECT_TIME(server.limits, cleanup_grace),
        KEEL_SUBJECT_TIME(server.limits, request_idle),
        KEEL_SUBJECT_TIME(server.limits, notification_interval),
        KEEL_SUBJECT_NUMBER(http.limits, max_head),
        KEEL_SUBJECT_NUMBER(http.limits, max_headers),
        KEEL_SUBJECT_NUMBER(http.limits, max_body),
        KEEL_SUBJECT_NUMBER(http.limits, max_connections),
        KEEL_SUBJECT_NUMBER(http.limits, max_sessions),
        KEEL_SUBJECT_NUMBER(http.limits, max_streams),
        KEEL_SUBJECT_NUMBER(http.limits, max_events),
        KEEL_SUBJECT_NUMBER(http.limits, max_event_bytes),
        KEEL_SUBJECT_TIME(http.limits, head_time),
        KEEL_SUBJECT_TIME(http.limits, body_time),
        KEEL_SUBJECT_TIME(http.limits, idle_time),
        KEEL_SUBJECT_TIME(http.limits, session_idle),
        KEEL_SUBJECT_TIME(http.limits, ended_stream),
        KEEL_SUBJECT_TIME(http.limits, keep_alive),
        {"threads", [](settings& s, const std::string& t) { s.http.threads = static_cast<unsigned>(std::stoul(t)); }},
        {"stateless", [](settings& s, const std::string& t) { s.http.stateless = t == "1"; }},
        {"old_sse", [](settings& s, const std::string& t) { s.http.old_sse = t == "1"; }},
        {"answers",
         [](settings& s, const std::string& t) {
             using form = http_options::answer_form;
             s.http.answers = t == "json" ? form::json : t == "events" ? form::events : form::as_needed;
         }},
        {"identify", [](settings& s, const std::string&) { s.http.identify = &bearer; }},
    };
    return all;
}

#undef KEEL_SUBJECT_NUMBER
#undef KEEL_SUBJECT_TIME

}  // namespace

settings read_settings(const std::vector<std::string_view>& arguments) {
    settings s;
    if (arguments.size() < 2 || arguments[0] != "--http-with") return s;
    s.address = arguments[1];
    for (std::size_t i = 2; i < arguments.size(); ++i) {
        std::string_view name = arguments[i].substr(0, arguments[i].find('='));
        auto found = setters().find(name);
        if (found == setters().end() || name.size() == arguments[i].size()) {
            throw std::invalid_argument("not NAME=VALUE of a setting: " + std::string(arguments[i]));
        }
        found->second(s, std::string(arguments[i].substr(name.size() + 1)));
    }
    return s;
}

int serve(server& s, const settings& with) {
    // Block the signals before threads are started, because threads inherit the mask.
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);

    http_server web(s, with.http);
    web.start(with.address);
    std::fprintf(stderr, "test-subject: serving %s\n", web.url().c_str());
    int got = 0;
    sigwait(&ends, &got);
    web.stop();
    s.stop();
    return 0;
}

}  // namespace keel::subject
