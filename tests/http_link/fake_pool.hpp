#pragma once

// A transfer_pool without connections: it records the requests, and the test supplies the responses.

#include "http_client/transfer.hpp"

#include <keel/json.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::test {

/// One HTTP request of the link.
struct seen_request {
    http_client::transfer_pool::id number = 0;
    http_client::transfer_request what;
    http_client::transfer_user* user = nullptr;  // null after it has ended
    bool left = true;                            // a part of it was passed to the system
    bool cancelled = false;

    bool open() const noexcept { return user != nullptr; }
    /// "" if the header is missing; "a, b" if there are two.
    std::string header(std::string_view name) const {
        auto lower = [](std::string text) {
            for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
            return text;
        };
        std::string found;
        for (const auto& [key, value] : what.headers) {
            if (lower(key) != lower(std::string(name))) continue;
            if (!found.empty()) found += ", ";
            found += value;
        }
        return found;
    }
    bool has(std::string_view name) const { return !header(name).empty(); }
    /// "POST tools/call", "POST result", "GET", "DELETE".
    std::string shown() const {
        if (what.body.empty()) return what.method;
        json::value body = json::parse(what.body);
        if (body["method"].is_string()) return what.method + ' ' + std::string(*body["method"].if_string());
        return what.method + (body.find("result") ? " result" : " error");
    }
    std::string id() const { return json::to_string(json::parse(what.body)["id"]); }
};

/// Shared by the pool, which the link owns, and the test.
struct fake_wire {
    std::vector<std::shared_ptr<seen_request>> requests;
    bool stalled = false;  // no new request is written
    bool gone = false;     // the pool was destroyed

    seen_request& at(std::size_t i) { return *requests.at(i); }
    seen_request& last() { return *requests.back(); }
    /// The requests with that `shown()`.
    std::vector<seen_request*> all(std::string_view shown) {
        std::vector<seen_request*> found;
        for (auto& each : requests) {
            if (each->shown() == shown) found.push_back(each.get());
        }
        return found;
    }
    std::size_t open() const {
        return static_cast<std::size_t>(
            std::count_if(requests.begin(), requests.end(), [](const auto& each) { return each->open(); }));
    }
    /// All requests in order: "POST initialize, GET".
    std::string shown(std::size_t from = 0) const {
        std::string text;
        for (std::size_t i = from; i < requests.size(); ++i) text += (text.empty() ? "" : ", ") + requests[i]->shown();
        return text;
    }

    void head(seen_request& r, int status, http_client::header_list headers = {}) {
        http_client::response_view view;
        view.status = status;
        view.headers = &headers;
        r.left = true;
        if (r.user) r.user->on_response(view);
    }
    void body(seen_request& r, std::string_view bytes) {
        if (r.user) r.user->on_body(bytes);
    }
    void end(seen_request& r) {
        if (auto* user = std::exchange(r.user, nullptr)) user->on_end();
    }
    void fail(seen_request& r, http_client::transfer_failure what = http_client::transfer_failure::lost,
              std::string_view why = "connection reset") {
        if (auto* user = std::exchange(r.user, nullptr)) user->on_failure(what, why);
    }

    void reply(seen_request& r, int status, std::string_view type, std::string_view text,
               http_client::header_list headers = {}) {
        if (!type.empty()) headers.emplace_back("content-type", type);
        head(r, status, std::move(headers));
        if (!text.empty()) body(r, text);
        end(r);
    }
    void accept(seen_request& r) { reply(r, 202, "", ""); }
    /// Sends a JSON-RPC result for the request.
    void answer(seen_request& r, std::string_view result = "{}", http_client::header_list headers = {}) {
        reply(r, 200, "application/json", result_text(r, result), std::move(headers));
    }
    static std::string result_text(const seen_request& r, std::string_view result = "{}") {
        return R"({"jsonrpc":"2.0","id":)" + r.id() + R"(,"result":)" + std::string(result) + "}";
    }
    void open_stream(seen_request& r, http_client::header_list headers = {}) {
        headers.emplace_back("content-type", "text/event-stream");
        head(r, 200, std::move(headers));
    }
    void event(seen_request& r, std::string_view data, std::string_view more = "") {
        body(r, std::string(more) + "data: " + std::string(data) + "\n\n");
    }
};

class fake_pool final : public http_client::transfer_pool {
public:
    explicit fake_pool(std::shared_ptr<fake_wire> shared, std::string origin = "http://127.0.0.1:8848",
                       std::string path = "/mcp")
        : wire_(std::move(shared)), origin_(std::move(origin)), path_(std::move(path)) {}
    ~fake_pool() override {
        wire_->gone = true;
        for (auto& each : wire_->requests) each->user = nullptr;
    }

    id start(http_client::transfer_request what, http_client::transfer_user& user) override {
        auto made = std::make_shared<seen_request>();
        made->number = wire_->requests.size() + 1;
        made->what = std::move(what);
        made->user = &user;
        made->left = !wire_->stalled;
        wire_->requests.push_back(made);
        return made->number;
    }
    void cancel(id which) noexcept override {
        seen_request& r = *wire_->requests[which - 1];
        r.cancelled = r.user != nullptr;
        r.user = nullptr;
    }
    bool unsent(id which) const noexcept override {
        const seen_request& r = *wire_->requests[which - 1];
        return r.user && !r.left;
    }
    void pause(id, bool) override {}
    void close_idle() noexcept override {}
    counts count() const noexcept override { return {}; }
    const std::string& origin() const noexcept override { return origin_; }
    const std::string& path() const noexcept override { return path_; }

private:
    std::shared_ptr<fake_wire> wire_;
    std::string origin_;
    std::string path_;
};

}  // namespace keel::test
