#include "http_client/legacy_sse.hpp"

#include "http_client/http_link.hpp"
#include "http_client/url_parts.hpp"
#include "schema/uri.hpp"

#include <algorithm>
#include <utility>

namespace keel::inline KEEL_ABI::http_client {

namespace {

constexpr std::size_t max_endpoint = 8 * 1024;
constexpr duration endpoint_timeout = std::chrono::seconds(10);  // it is the first event of the stream

/// "HTTP://Host:80" as transfer_pool::origin has it.
std::string plain_origin(std::string_view text) {
    std::string origin = to_lower(text);
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

legacy_sse_stream::legacy_sse_stream(http_link& home, duration timeout)
    : home_(home), reader_(http::sse_limits{home.options_.max_body}) {
    transfer_request out;
    out.method = "GET";
    out.lasting = true;
    out.headers = headers_of_stream(home.terms_, {});
    transfer_ = home.pool_->start(std::move(out), *this);
    timer_ = start_timer_after(*home.loop_, timeout, [this] {
        timer_ = 0;
        lose("no endpoint event within the timeout");
    });
}

legacy_sse_stream::~legacy_sse_stream() { stop(); }

void legacy_sse_stream::stop() noexcept {
    stopped_ = true;
    home_.loop_->stop_timer(std::exchange(timer_, 0));
    if (transfer_ != 0 && home_.pool_) home_.pool_->cancel(transfer_);
    transfer_ = 0;
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
            home_.take_large_message(beginning);
        });
}

void legacy_sse_stream::take(const http::sse_event& e) {
    if (!endpoint_.empty()) return home_.take_event(nullptr, e);
    if (e.event != "endpoint") return lose("the first event is not an endpoint event");
    auto path = endpoint_path(home_.pool_->origin(), home_.pool_->path(), e.data);
    if (!path) return lose("the endpoint URL has a different origin");
    endpoint_ = *path;
    decide();
}

void legacy_sse_stream::on_failure(transfer_failure, std::string_view why) { lose(why); }

// Posted, because the waiting task would otherwise run inside a callback of the pool.
void legacy_sse_stream::decide() {
    home_.loop_->stop_timer(std::exchange(timer_, 0));
    home_.later([this, home = &home_] {
        if (home->old_.get() == this) decided.set();
    });
}

void legacy_sse_stream::lose(std::string_view why) {
    if (stopped_) return;
    std::string cause(why);
    stop();
    // If the stream fails before the waiting task runs, usable() is false.
    if (decided.is_set()) home_.peer_->fail(cause);
    else decide();
}

task<bool> http_link::fall_back_to_old_transport() {
    if (!options_.allow_old_transport || closed_ || !pool_ || old_) co_return false;
    struct undo {
        http_link& home;
        bool keep = false;
        ~undo() {
            if (!keep) home.old_.reset();
        }
    } attempt{*this};
    terms_.modern = false;
    terms_.version.clear();
    terms_.session.clear();
    old_ = std::make_unique<legacy_sse_stream>(*this, std::min(limits_.request_idle, endpoint_timeout));
    co_await old_->decided;
    if (!old_ || !old_->usable()) co_return false;
    attempt.keep = true;
    co_return true;
}

}  // namespace keel::http_client
