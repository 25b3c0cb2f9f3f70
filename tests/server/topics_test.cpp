// Topics alone: several loops, several publishers, and load that must not use more memory.

#include "server/topics.hpp"
#include "async/epoll_loop.hpp"
#include "support/harness.hpp"

#include <keel/server.hpp>

#include <atomic>
#include <fstream>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace keel;
using namespace keel::test;
using server_side::topic_board;
using server_side::topic_listener;
using server_side::topics;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool sanitized = false;
#endif

/// Counts its notifications. Used on its loop; read after that has ended.
class counter final : public topic_listener {
public:
    void on_updated(const std::string& uri) override {
        ++heard;
        last = uri;
    }
    ~counter() = default;
    std::atomic<std::size_t> heard{0};
    std::string last;
};

std::size_t resident_bytes() {
    std::ifstream in("/proc/self/statm");
    std::size_t all = 0;
    std::size_t resident = 0;
    in >> all >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// A thread that runs a loop.
class running_loop {
public:
    running_loop() : thread_([this] { loop->run(); }) {}
    running_loop(const running_loop&) = delete;
    running_loop& operator=(const running_loop&) = delete;
    ~running_loop() { join(); }
    void join() {
        if (!thread_.joinable()) return;
        loop->stop();
        thread_.join();
    }
    /// Runs `f` on the loop and waits for it.
    template <class F>
    void on_loop(F f) {
        std::latch done(1);
        loop->post([&] {
            f();
            done.count_down();
        });
        done.wait();
    }
    std::shared_ptr<async::epoll_loop> loop = async::epoll_loop::create();

private:
    std::thread thread_;
};

}  // namespace

TEST_CASE("I12: publishing marks a topic once per loop, however often it is published") {
    auto first = std::make_shared<manual_loop>();
    auto second = std::make_shared<manual_loop>();
    topics all;
    auto a = std::make_shared<counter>();
    auto b = std::make_shared<counter>();
    auto board_a = all.board_of(first, 50ms);
    auto board_b = all.board_of(second, 50ms);
    CHECK(board_a == all.board_of(first, 50ms));
    CHECK(board_a != board_b);
    board_a->add("demo:x", 1, a);
    board_a->add("demo:y", 1, a);
    board_b->add("demo:x", 1, b);
    CHECK(all.size() == 2);
    for (int i = 0; i < 100'000; ++i) {
        all.publish("demo:x");
        all.publish("demo:y");
        all.publish("demo:nobody");
    }
    CHECK(first->ready() == 1);
    CHECK(second->ready() == 1);
    first->run();
    second->run();
    CHECK(a->heard == 2);
    CHECK(b->heard == 1);
    for (int i = 0; i < 100'000; ++i) all.publish("demo:x");
    CHECK(first->ready() == 0);  // it is delayed, and needs no wakeup
    first->advance(50ms);
    CHECK(a->heard == 3);
    first->advance(1s);
    CHECK(a->heard == 3);
    CHECK(first->timers() == 0);
}

TEST_CASE("a board holds its listeners weakly, and topics their boards") {
    auto loop = std::make_shared<manual_loop>();
    topics all;
    auto board = all.board_of(loop, 50ms);
    auto who = std::make_shared<counter>();
    board->add("demo:x", 1, who);
    who.reset();
    all.publish("demo:x");
    loop->run();
    CHECK(all.size() == 1);
    all.publish("demo:x");
    board.reset();
    CHECK(all.size() == 0);
    all.publish("demo:x");
    loop->advance(1s);
    CHECK(loop->timers() == 0);
}

TEST_CASE("an ended loop is removed by the next publish") {
    auto loop = std::make_shared<manual_loop>();
    topics all;
    auto board = all.board_of(loop, 50ms);
    auto who = std::make_shared<counter>();
    board->add("demo:x", 1, who);
    board->add("demo:y", 1, who);
    SUBCASE("ended") { loop->end(); }
    SUBCASE("destroyed") { loop.reset(); }
    all.publish("demo:x");
    CHECK(all.size() == 0);
    CHECK(who->heard == 0);
    board->remove("demo:x", 1);
    board->remove("demo:y", 1);
}

TEST_CASE("boards may outlive the topics they belong to") {
    auto loop = std::make_shared<manual_loop>();
    std::shared_ptr<topic_board> board;
    auto who = std::make_shared<counter>();
    {
        topics all;
        board = all.board_of(loop, 50ms);
        board->add("demo:x", 1, who);
        all.publish("demo:x");
    }
    loop->run();
    CHECK(who->heard == 1);
    board->remove("demo:x", 1);
    CHECK(loop->timers() == 0);
}

TEST_CASE("without an interval every change that the loop sees is sent") {
    auto loop = std::make_shared<manual_loop>();
    topics all;
    auto board = all.board_of(loop, 0ms);
    auto who = std::make_shared<counter>();
    board->add("demo:x", 1, who);
    for (int i = 0; i < 10; ++i) {
        all.publish("demo:x");
        all.publish("demo:x");
        loop->run();
    }
    CHECK(who->heard == 10);
    CHECK(loop->timers() == 0);
}

TEST_CASE("several threads publish while subscribers are added and removed on several loops") {
    topics all;
    std::vector<std::shared_ptr<counter>> stayed;
    std::atomic<bool> over = false;
    {
        std::vector<std::unique_ptr<running_loop>> loops;
        for (int i = 0; i < 2; ++i) loops.push_back(std::make_unique<running_loop>());
        for (auto& each : loops) {
            each->on_loop([&] {
                auto who = std::make_shared<counter>();
                all.board_of(each->loop, 1ms)->add("demo:x", 1, who);
                stayed.push_back(who);
            });
        }
        // Kept until the loops have ended.
        std::vector<std::shared_ptr<topic_board>> boards;
        for (auto& each : loops) {
            each->on_loop([&] {
                boards.push_back(all.board_of(each->loop, 1ms));
                boards.back()->add("demo:x", 1, stayed[boards.size() - 1]);
            });
        }
        std::vector<std::thread> threads;
        for (int i = 0; i < 2; ++i) {
            threads.emplace_back([&] {
                for (int n = 0; n < 100'000; ++n) all.publish(n % 2 == 0 ? "demo:x" : "demo:y");
            });
        }
        std::thread churn([&] {
            while (!over) {
                for (std::size_t i = 0; i < loops.size(); ++i) {
                    loops[i]->on_loop([&] {
                        auto who = std::make_shared<counter>();
                        auto key = boards[i]->next_key() + 1;
                        boards[i]->add("demo:y", key, who);
                        boards[i]->add("demo:x", key, who);
                        boards[i]->remove("demo:y", key);
                        boards[i]->remove("demo:x", key);
                    });
                }
            }
        });
        for (std::thread& each : threads) each.join();
        over = true;
        churn.join();
        // The last change is always delivered.
        for (auto& each : stayed) each->heard = 0;
        all.publish("demo:x");
        for (std::size_t i = 0; i < loops.size(); ++i) {
            while (stayed[i]->heard == 0) loops[i]->on_loop([] {});
        }
        for (auto& each : loops) each->join();
        boards.clear();
    }
    CHECK(all.size() == 0);
    for (auto& each : stayed) CHECK(each->last == "demo:x");
}

TEST_CASE("I12: memory stays constant with a thousand listeners, a million changes and one that never reads") {
    constexpr std::size_t listeners = 1000;
    constexpr std::size_t changes = 1'000'000;
    server_options options;
    options.declare_resources = true;
    options.limits.out_queue_soft = 16 * 1024;
    options.limits.write_stall = 24h;
    auto core = std::make_shared<server_side::server_core>(implementation{.name = "test", .version = "1"}, options);
    auto loop = std::make_shared<manual_loop>();
    std::vector<std::shared_ptr<script>> wires;
    std::vector<std::shared_ptr<server_side::server_session>> sessions;
    std::size_t ended = 0;
    for (std::size_t i = 0; i < listeners; ++i) {
        wires.push_back(std::make_shared<script>(loop));
        if (i != 0) wires.back()->discard_output();
        sessions.push_back(
            std::make_shared<server_side::server_session>(core, [&](const connection_end&) { ++ended; }));
        sessions.back()->start(loop, wires.back()->open(), options.limits);
        wires.back()->feed(
            modern_line("1", "subscriptions/listen", R"("notifications":{"resourceSubscriptions":["demo:hot"]})") +
            "\n");
        loop->run();
    }
    REQUIRE(core->topics.size() == 1);
    script& never_reads = *wires[0];
    never_reads.take_output();
    never_reads.stall();
    std::vector<std::size_t> before;
    for (auto& each : wires) before.push_back(each->bytes_taken());

    // The first changes fill the bounded buffers: afterwards memory must not grow.
    auto step = [&] {
        core->topics.publish("demo:hot");
        loop->advance(options.limits.notification_interval);
    };
    for (int i = 0; i < 200; ++i) step();
    const std::size_t memory = resident_bytes();

    std::atomic<bool> over = false;
    std::thread publisher([&] {
        for (std::size_t i = 0; i < changes; ++i) core->topics.publish("demo:hot");
        over = true;
    });
    std::size_t rounds = 0;
    std::size_t most_ready = 0;
    while (!over || rounds < 50) {
        most_ready = std::max(most_ready, loop->ready());
        loop->advance(options.limits.notification_interval);
        ++rounds;
    }
    publisher.join();
    step();
    if (!sanitized) CHECK(resident_bytes() < memory + 4 * 1024 * 1024);
    CHECK(most_ready <= 1);

    // Every reader was notified, at most once per interval.
    const std::string frame =
        R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"demo:hot",)"
        R"("_meta":{"io.modelcontextprotocol/subscriptionId":1}}})"
        "\n";
    for (std::size_t i = 1; i < listeners; ++i) {
        std::size_t told = (wires[i]->bytes_taken() - before[i]) / frame.size();
        CHECK(told >= 201);
        CHECK(told <= 200 + rounds + 2);
    }
    // The client that did not read gets its queued notifications, and then one for the changes it has missed.
    never_reads.resume();
    loop->run();
    std::size_t queued = never_reads.output().size();
    CHECK(queued <= options.limits.out_queue_soft + frame.size());
    loop->advance(1s);
    std::string all = never_reads.take_output();
    CHECK(all.size() == queued + frame.size());
    CHECK(all.substr(queued) == frame);

    for (auto& each : wires) each->eof();
    loop->run();
    CHECK(ended == listeners);
    CHECK(core->topics.size() == 0);
    CHECK(core->budget->used == 0);
    CHECK(loop->timers() == 0);
}
