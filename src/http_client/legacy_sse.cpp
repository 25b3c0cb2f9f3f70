#include "http_client/legacy_sse.hpp"

#include "http_client/http_session.hpp"
#include "http_client/link_context.hpp"
#include "http_client/message_inbox.hpp"
#include "protocol/url_parts.hpp"
#include "schema/uri.hpp"

#include <algorithm>
#include <utility>

namespace keel::inline KEEL_ABI::http_client {

namespace {

constexpr std::size_t max_endpoint = 8 * 1024;
constexpr duration endpoint_timeout = std::chrono::seconds(10);  // it is the first event of the stream

/// "HTTP://Host:80" as transfer_pool::origin has it.
std::string plain_origin(std::string_view text) {
    std::string origin = protocol::to_lower(text);
    for (auto [scheme, port] : {std::pair("http://", ":80"), std::pair("https://", ":443")}) {
        if (origin.starts_with(scheme) && origin.ends_with(port))
            origin.resize(origin.size() - std::string_view(port).size());
    }
    return origin;
}

}  // namespace

std::optional<std::string> endpoint_path(std::string_view origin, std::string_view base_path, std::string_view said) {
    while (!said.empty() && (said.back() == ' ' || said.back() == '\r' || said.back() == '\n')) said.remove_suffix(1);
    while (said.starts_with(' ')) said.remove_prefix(1);
    auto visible = [](char c) { return c > 0x20 && c < 0x7f && c != '\\'; };
    if (said.empty() || said.size() > max_endpoint || !std::all_of(said.begin(), said.end(), visible)) return {};
    std::string base(origin);
    base += base_path.empty() ? std::string_view("/") : base_path;
    std::string whole(validation::split_fragment(validation::resolve_uri(base, said)).document);
    std::size_t scheme = whole.find("://");
    if (scheme == std::string::npos) return {};
    std::size_t path = std::min(whole.find_first_of("/?", scheme + 3), whole.size());
    if (plain_origin(std::string_view(whole).substr(0, path)) != origin) return {};
    std::string found = whole.substr(path);
    if (!found.starts_with('/')) found.insert(0, 1, '/');
    return found;
}

legacy_sse_stream::legacy_sse_stream(link_context& context, const http_session& session, message_inbox& inbox)
    : context_(context), inbox_(inbox), reader_(http::sse_limits{context.max_body()}) {
    transfer_request out;
    out.method = "GET";
    out.lasting = true;
    out.headers = headers_of_stream(session.terms(), {});
    transfer_ = context.start(std::move(out), *this);
    timer_ = context.start_timer(std::min(context.bounds().request_idle, endpoint_timeout), [this] {
        timer_ = 0;
        lose("no endpoint event within the timeout");
    });
}

legacy_sse_stream::~legacy_sse_stream() { stop(); }

void legacy_sse_stream::stop() noexcept {
    stopped_ = true;
    context_.stop_timer(timer_);
    context_.cancel(transfer_);
}

void legacy_sse_stream::on_response(const response_view& r) {
    bool stream = r.status >= 200 && r.status < 300 && is_event_stream_type(r.header("content-type"));
    if (!stream) lose("the response is not an event stream");
}

void legacy_sse_stream::on_body(std::string_view bytes) {
    reader_.feed(
        bytes,
        [this](const http::sse_event& e) {
            if (!stopped_) take(e);
        },
        [this](std::string_view beginning) {
            if (stopped_) return;
            if (endpoint_.empty()) return lose("the first event is not an endpoint event");
            inbox_.take_large_message(beginning);
        });
}

void legacy_sse_stream::take(const http::sse_event& e) {
    if (!endpoint_.empty()) return inbox_.take_event(nullptr, e);
    if (e.event != "endpoint") return lose("the first event is not an endpoint event");
    auto path = endpoint_path(context_.pool().origin(), context_.pool().path(), e.data);
    if (!path) return lose("the endpoint URL has a different origin");
    endpoint_ = *path;
    decide();
}

void legacy_sse_stream::on_failure(transfer_failure, std::string_view why) { lose(why); }

// Posted, because the waiting task would otherwise run inside a callback of the pool.
void legacy_sse_stream::decide() {
    context_.stop_timer(timer_);
    context_.post([this, still = std::weak_ptr<char>(alive_)] {
        if (!still.expired()) decided.set();
    });
}

void legacy_sse_stream::lose(std::string_view why) {
    if (stopped_) return;
    std::string cause(why);
    stop();
    // If the stream fails before the waiting task runs, usable() is false.
    if (decided.is_set()) context_.peer().fail(cause);
    else decide();
}

}  // namespace keel::http_client
