// The answer to one HTTP request, without a session: what its user is told.

#include "http/exchange.hpp"

#include "http/http_connection.hpp"
#include "http/http_worker.hpp"
#include "http/web.hpp"

using namespace keel;
using namespace keel::test;

namespace {

struct recorded_user final : http::exchange_user {
    void on_exchange_gone(std::uint64_t tag) override { told.push_back("gone " + std::to_string(tag)); }
    void on_exchange_drained(std::uint64_t tag) override { told.push_back("drained " + std::to_string(tag)); }
    void on_exchange_quiet(std::uint64_t tag) override { told.push_back("quiet " + std::to_string(tag)); }
    lines told;
};

/// A loop that runs when the test says so, and never is the current one.
class other_loop final : public loop {
public:
    time_point now() const noexcept override { return inner.now(); }
    bool post(std::function<void()> work) override { return inner.post(std::move(work)); }
    bool here() const noexcept override { return false; }
    timer start_timer(time_point when, std::function<void()> work) override {
        return inner.start_timer(when, std::move(work));
    }
    void stop_timer(timer id) noexcept override { inner.stop_timer(id); }
    manual_loop inner;
};

/// An exchange on the loop of `w`, and the calls that its connection makes.
struct exchange_of {
    explicit exchange_of(web& w)
        : worker(*w.core, 0, w.loop),
          connection(std::make_shared<http::http_connection>(worker, wire(w), http::ip_address(), false)),
          it(std::make_shared<http::exchange>(*connection)), events(*it) {}
    static std::unique_ptr<keel::connection> wire(web& w) { return std::make_shared<script>(w.loop)->open(); }

    http::http_worker worker;
    std::shared_ptr<http::http_connection> connection;
    std::shared_ptr<http::exchange> it;
    http::answer_watcher& events;
};

}  // namespace

TEST_CASE("H6: a session that takes over an exchange after its client has disconnected is told so, once and later") {
    web w;
    exchange_of e(w);
    auto user = std::make_shared<recorded_user>();
    e.events.on_gone();
    e.it->attach(user, w.loop, 7);
    CHECK(user->told.empty());  // the caller of attach has not finished
    w.run();
    CHECK(user->told == lines{"gone 7"});
    w.run();
    CHECK(user->told.size() == 1);
}

TEST_CASE("H6: a session on another loop than the connection is told on its own loop") {
    web w;
    exchange_of e(w);
    auto other = std::make_shared<other_loop>();
    auto user = std::make_shared<recorded_user>();
    e.it->attach(user, other, 1);
    other->inner.run();
    CHECK(user->told.empty());
    w.on_loop([&] { e.events.on_drained(); });
    w.on_loop([&] { e.events.on_quiet(); });
    w.on_loop([&] { e.events.on_gone(); });
    CHECK(user->told.empty());
    other->inner.run();
    CHECK(user->told == lines{"drained 1", "quiet 1", "gone 1"});
}

TEST_CASE("J1: after the end of its response an exchange has no waiting bytes") {
    web w;
    exchange_of e(w);
    e.it->end_stream();
    CHECK(e.it->waiting() == 0);
    e.events.on_drained();
    CHECK(e.it->waiting() == 0);
}
