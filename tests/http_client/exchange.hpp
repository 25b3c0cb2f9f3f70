#pragma once

// A pool on a manual loop. Its connections are scripted by the test, and the callbacks of its users are recorded.

#include "http_client/transfer.hpp"
#include "http_client/transfer_pool.hpp"
#include "support/manual_loop.hpp"
#include "support/scripted_connection.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::test {

using namespace std::chrono_literals;

/// Records the callbacks of one transfer, and checks that there is at most one outcome and nothing after it.
class heard final : public http_client::transfer_user {
public:
    void on_response(const http_client::response_view& r) override {
        CHECK(outcome.empty());
        CHECK(status == 0);
        status = r.status;
        headers = *r.headers;
        if (at_response) at_response();
    }
    void on_body(std::string_view bytes) override {
        CHECK(outcome.empty());
        CHECK(status != 0);
        CHECK(!bytes.empty());
        body += bytes;
        ++pieces;
        if (at_body) at_body();
    }
    void on_end() override {
        CHECK(outcome.empty());
        CHECK(status != 0);
        outcome = "end";
        if (at_end) at_end();
    }
    void on_failure(http_client::transfer_failure what, std::string_view reason) override {
        CHECK(outcome.empty());
        CHECK(!reason.empty());
        switch (what) {
            case http_client::transfer_failure::not_sent: outcome = "not_sent"; break;
            case http_client::transfer_failure::lost: outcome = "lost"; break;
            case http_client::transfer_failure::malformed: outcome = "malformed"; break;
        }
        why = reason;
        if (at_end) at_end();
    }

    int status = 0;
    http_client::header_list headers;
    std::string body;
    std::size_t pieces = 0;
    std::string outcome;
    std::string why;
    std::function<void()> at_response;
    std::function<void()> at_body;
    std::function<void()> at_end;
};

/// Delays a dialer until the test releases it.
class held_dial final : public detail::wait {
public:
    explicit held_dial(std::deque<held_dial*>& queue) : queue_(queue) {}
    ~held_dial() = default;
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        queue_.push_back(this);
        return true;
    }
    void await_resume() const { check(); }
    void go_on() { resume(); }

private:
    void interrupt() noexcept override {
        std::erase(queue_, this);
        resume();
    }
    std::deque<held_dial*>& queue_;
};

class exchange {
public:
    explicit exchange(http_client::pool_options options = {}, std::uint64_t seed = 0)
        : loop(seed == 0 ? std::make_shared<manual_loop>() : std::make_shared<manual_loop>(seed)) {
        if (options.url.empty()) options.url = "http://127.0.0.1:8848/mcp";
        if (!options.environment) {
            options.environment = [this](const char* name) -> std::optional<std::string> {
                for (const auto& [key, value] : environment) {
                    if (key == name) return value;
                }
                return std::nullopt;
            };
        }
        options.report = [this](std::string_view line) { reports.emplace_back(line); };
        pool = http_client::make_transfer_pool(
            loop, std::move(options), [this](keel::loop&, tcp_address to) { return dial(this, std::move(to)); });
    }

    std::shared_ptr<manual_loop> loop;
    std::vector<std::pair<std::string, std::string>> environment;
    std::vector<std::string> reports;
    std::vector<std::string> dialed;             // addresses
    std::vector<std::shared_ptr<script>> wires;  // in order of creation
    bool hold_dials = false;
    std::deque<held_dial*> held;
    std::string dial_failure;  // not empty: every attempt fails with this
    std::function<void(script&)> prepare;
    std::unique_ptr<http_client::transfer_pool> pool;

    static http_client::transfer_request post(std::string body = "{}") {
        return {.path = {}, .headers = {}, .body = std::move(body)};
    }
    static http_client::transfer_request get(std::string path = {}) {
        return {.method = "GET", .path = std::move(path), .headers = {}, .body = {}};
    }

    /// Starts a transfer and runs the loop.
    http_client::transfer_pool::id start(heard& user, http_client::transfer_request what = post()) {
        auto id = pool->start(std::move(what), user);
        loop->run();
        return id;
    }
    void feed(std::size_t wire, std::string bytes) {
        wires[wire]->feed(std::move(bytes));
        loop->run();
    }
    void eof(std::size_t wire) {
        wires[wire]->eof();
        loop->run();
    }
    void let_one_dial_go_on() {
        REQUIRE(!held.empty());
        held_dial* first = held.front();
        held.pop_front();
        first->go_on();
        loop->run();
    }

    static std::string ok(std::string_view body = "hi", std::string_view headers = {}) {
        return "HTTP/1.1 200 OK\r\n" + std::string(headers) + "Content-Length: " + std::to_string(body.size()) +
               "\r\n\r\n" + std::string(body);
    }

private:
    // `self` outlives the pool and every attempt.
    static task<std::unique_ptr<connection>> dial(exchange* self, tcp_address to) {
        self->dialed.push_back(to.text());
        if (self->hold_dials) {
            held_dial wait(self->held);
            co_await wait;
        }
        if (!self->dial_failure.empty()) throw std::runtime_error(self->dial_failure);
        auto wire = std::make_shared<script>(self->loop);
        if (self->prepare) self->prepare(*wire);
        self->wires.push_back(wire);
        co_return wire->open();
    }
};

}  // namespace keel::test
