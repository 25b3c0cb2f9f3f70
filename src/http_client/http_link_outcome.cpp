#include "http_client/http_link_outcome.hpp"

#include "http_common/reason_phrase.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace keel::inline KEEL_ABI::http_client {

namespace {

constexpr auto usual_pause = std::chrono::milliseconds(1000);
constexpr auto longest_back_off = std::chrono::milliseconds(30'000);
constexpr auto longest_pause = std::chrono::hours(24 * 365);  // longer pauses would overflow time points

}  // namespace

rpc::call_outcome failed_call(error_kind kind, std::string why, int http_status) {
    rpc::call_outcome outcome;
    outcome.kind = kind;
    outcome.error.message = std::move(why);
    outcome.transport_status = http_status;
    return outcome;
}

std::string describe_refusal(int status, std::string_view body) {
    std::string text = "HTTP " + std::to_string(status) + ' ' + std::string(http::reason_phrase(status));
    while (!body.empty() && (body.front() == ' ' || body.front() == '\r' || body.front() == '\n'))
        body.remove_prefix(1);
    if (!body.empty()) text += ": " + rpc::printable(body);
    return text;
}

rpc::call_outcome refused_call(int status, std::string_view body, rpc::serial call, json::document& reader) {
    const bool closed_to_us = status == 401 || status == 403;
    rpc::call_outcome outcome = failed_call(closed_to_us ? error_kind::unauthorized : error_kind::rejected, {}, status);
    if (const json::value* v = reader.read(body); v && v->is_object()) {
        rpc::message m = rpc::classify(*v);
        bool ours = !m.id.present() || call_of(m.id) == call;
        if (m.kind == rpc::message_kind::response && m.error && !*m.problem && ours) {
            std::int64_t code = (*m.error)["code"].if_int().value_or(0);
            outcome.error.code = static_cast<int>(std::clamp<std::int64_t>(code, INT32_MIN, INT32_MAX));
            outcome.error.message = *(*m.error)["message"].if_string();
            outcome.error.data = (*m.error)["data"];
            return outcome;
        }
    }
    outcome.error.message = describe_refusal(status, body);
    return outcome;
}

rpc::call_outcome failed_transfer(transfer_failure what, std::string_view why) {
    switch (what) {
        case transfer_failure::not_sent: return failed_call(error_kind::unavailable, rpc::printable(why));
        case transfer_failure::lost: break;
        case transfer_failure::malformed: return failed_call(error_kind::bad_message, rpc::printable(why));
    }
    return failed_call(error_kind::stream_lost, "the response was lost: " + rpc::printable(why));
}

rpc::serial call_of(const rpc::request_id& id) noexcept {
    if (id.is_integer()) return id.number() > 0 ? static_cast<rpc::serial>(id.number()) : 0;
    if (!id.is_string()) return 0;
    const std::string& text = id.text();
    if (text.empty() || text[0] < '1' || text[0] > '9') return 0;
    rpc::serial n = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
    return problem == std::errc() && end == text.data() + text.size() ? n : 0;
}

duration reconnect_backoff::next(std::optional<std::chrono::milliseconds> asked) noexcept {
    auto base = std::min<std::chrono::milliseconds>(asked.value_or(usual_pause), longest_pause);
    auto backed_off = std::min(std::max(base, usual_pause / 4) * (1u << std::min(fruitless_, 10u)), longest_back_off);
    // The first attempt after a successful stream uses exactly the `retry` time of the server.
    auto wait = fruitless_ == 0 ? base : std::max(base, std::chrono::milliseconds(backed_off));
    // Very short pauses are allowed a few times, not in an endless loop.
    quick_ = base < usual_pause / 10 ? quick_ + 1 : 0;
    if (quick_ > 10) wait = std::max<std::chrono::milliseconds>(wait, usual_pause / 4);
    ++fruitless_;
    return wait;
}

}  // namespace keel::http_client
