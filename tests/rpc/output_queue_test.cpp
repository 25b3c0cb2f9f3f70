// The queue of frames: a started frame is completed, other frames can be withdrawn.

#include "rpc/output_queue.hpp"
#include "harness.hpp"
#include "support/manual_loop.hpp"

#include <random>

using namespace keel::rpc;
using namespace keel::rpc::test;

namespace {

void add(output_queue& out, serial owner, std::string_view text, request_id id = {}) {
    outgoing_message about{
        .type = outgoing_message::kind::result, .owner = owner, .answered_id = id.present() ? &id : nullptr};
    out.begin() += text;
    out.end(about);
}

// Accepts n bytes, like the system.
std::string take(output_queue& out, std::size_t n) {
    std::string taken(out.pending().substr(0, n));
    out.on_written(taken.size());
    return taken;
}

}  // namespace

TEST_CASE(
    "B4, B5: withdrawing one of three owners after any number of written bytes leaves whole frames of the others") {
    const struct {
        serial owner;
        std::string text;
    } frames[] = {{1, "one-a"}, {2, "two-a"}, {1, "one-b"}, {3, "three-a"}, {2, "two-bb"}, {1, "c"}, {3, "three-c"}};
    std::size_t total = 0;
    for (const auto& f : frames) total += f.text.size() + 1;
    for (serial victim = 1; victim <= 4; ++victim) {
        for (std::size_t n = 0; n <= total; ++n) {
            CAPTURE(victim);
            CAPTURE(n);
            output_queue out;
            for (const auto& f : frames) add(out, f.owner, f.text);
            std::string wire = take(out, n);
            std::string expected;
            std::size_t expected_taken = 0;
            std::size_t begin = 0;
            for (const auto& f : frames) {
                if (f.owner != victim || begin < n) expected += f.text + "\n";
                else ++expected_taken;
                begin += f.text.size() + 1;
            }
            CHECK(out.withdraw(victim) == expected_taken);
            CHECK(out.size() == expected.size() - n);
            CHECK(out.withdraw(victim) == 0);
            wire += take(out, total);
            CHECK(wire == expected);
            CHECK(out.empty());
            add(out, 9, "next");  // the queue still works
            CHECK(out.pending() == "next\n");
        }
    }
}

TEST_CASE("B4: the owner of a queued answer is found only while its write has not begun") {
    output_queue out;
    add(out, 1, "progress");
    add(out, 1, "answer", request_id("x"));
    add(out, 2, "answer", request_id(7));
    CHECK(out.owner_of_response(request_id("x")) == 1);
    CHECK(out.owner_of_response(request_id(7)) == 2);
    CHECK(out.owner_of_response(request_id("7")) == 0);
    CHECK(out.owner_of_response(request_id(8)) == 0);
    take(out, 9);
    CHECK(out.owner_of_response(request_id("x")) == 1);
    take(out, 1);
    CHECK(out.owner_of_response(request_id("x")) == 0);
    CHECK(out.owner_of_response(request_id(7)) == 2);
    out.clear();
    CHECK(out.owner_of_response(request_id(7)) == 0);
    CHECK(out.empty());
}

TEST_CASE("B4, A9: of two queued answers with the same id, the newer one is found") {
    output_queue out;
    add(out, 1, "older", request_id("x"));
    add(out, 2, "newer", request_id("x"));
    add(out, 3, "another", request_id("y"));
    CHECK(out.owner_of_response(request_id("x")) == 2);
    CHECK(out.withdraw(2) == 1);
    CHECK(out.owner_of_response(request_id("x")) == 1);
    CHECK(out.pending() == "older\nanother\n");
}

TEST_CASE("frames keep their numbers when others are withdrawn") {
    output_queue out;
    CHECK(out.oldest_unsent() == 1);
    add(out, 1, "a");
    add(out, 2, "b");
    add(out, 3, "c");
    CHECK(out.oldest_unsent() == 1);
    out.withdraw(1);
    CHECK(out.oldest_unsent() == 2);
    take(out, 1);
    CHECK(out.oldest_unsent() == 3);
    take(out, 3);
    CHECK(out.oldest_unsent() == 4);
    add(out, 4, "d");
    CHECK(out.oldest_unsent() == 4);
}

TEST_CASE("J1: memory of written bytes is freed, also while the queue is never empty") {
    output_queue out;
    std::string expected;
    std::string wire;
    std::size_t heap = 0;
    const std::string text(1000, 'x');
    add(out, 1, text);
    for (int i = 0; i < 20'000; ++i) {
        add(out, 1, text);
        wire.clear();
        wire = take(out, 1001);
        CHECK_MESSAGE((wire.size() == 1001 && wire.back() == '\n'), i);
        if (i == 5000) heap = heap_in_use();
    }
    CHECK(out.size() == 1001);
    CHECK(heap_in_use() <= heap + 1024 * 1024);
}

TEST_CASE("J1: a large buffer is not kept") {
    std::size_t before = heap_in_use();
    output_queue out;
    add(out, 1, std::string(10'000'000, 'x'));
    take(out, 10'000'001);
    CHECK(heap_in_use() < before + 1'000'000);
    CHECK(out.empty());
}

TEST_CASE("random frames, writes and withdrawals agree with a list of strings") {
    std::mt19937 random(7);
    auto below = [&](std::size_t n) { return random() % n; };
    for (int run = 0; run < 30; ++run) {
        CAPTURE(run);
        struct entry {
            serial owner;
            std::string text;
        };
        std::vector<entry> model;
        std::size_t begun = 0;  // bytes written of model.front()
        output_queue out;
        std::string wire;
        std::string expected;
        // Some large frames, so that the queue is compacted.
        for (int i = 0; i < 2000; ++i) {
            switch (below(4)) {
                case 0:
                case 1: {
                    serial owner = 1 + below(5);
                    std::string text(below(run % 3 == 0 ? 20'000 : 30), static_cast<char>('a' + below(26)));
                    add(out, owner, text);
                    model.push_back({owner, text + "\n"});
                    break;
                }
                case 2: {
                    std::size_t n = std::min<std::size_t>(out.size(), below(run % 3 == 0 ? 40'000 : 60));
                    std::string taken = take(out, n);
                    wire += taken;
                    for (std::size_t left = n; left > 0;) {
                        std::size_t now = std::min(left, model.front().text.size() - begun);
                        expected += model.front().text.substr(begun, now);
                        begun += now;
                        left -= now;
                        if (begun == model.front().text.size()) {
                            model.erase(model.begin());
                            begun = 0;
                        }
                    }
                    break;
                }
                case 3: {
                    serial owner = 1 + below(5);
                    std::size_t taken = 0;
                    for (std::size_t k = begun > 0 ? 1 : 0; k < model.size();) {
                        if (model[k].owner == owner) {
                            model.erase(model.begin() + static_cast<std::ptrdiff_t>(k));
                            ++taken;
                        } else {
                            ++k;
                        }
                    }
                    std::size_t withdrawn = out.withdraw(owner);
                    CHECK(withdrawn == taken);
                    break;
                }
            }
            std::size_t left = 0;
            for (const entry& e : model) left += e.text.size();
            REQUIRE(out.size() == left - begun);
        }
        CHECK((wire == expected));
    }
}

TEST_CASE("J1: bytes of replies are counted separately from those of requests, whatever is written or withdrawn") {
    for (std::size_t n = 0; n <= 24; ++n) {
        CAPTURE(n);
        output_queue out;
        add(out, 1, "reply");  // 6 bytes with its newline
        outgoing_message request{.type = outgoing_message::kind::request, .owner = 2};
        out.begin() += "question";  // 9
        out.end(request);
        add(out, 3, "again");  // 6
        outgoing_message notification;
        out.begin() += "ne";  // 3
        out.end(notification);
        CHECK(out.reply_bytes() == 12);
        take(out, n);
        std::size_t expected = (n < 6 ? 6u : 0u) + (n < 21 ? 6u : 0u);
        CHECK(out.reply_bytes() == expected);
        if (out.withdraw(3) == 1) expected -= 6;
        CHECK(out.reply_bytes() == expected);
        out.clear();
        CHECK(out.reply_bytes() == 0);
    }
}

TEST_CASE("the buffer of a large message is kept for the next one, outside of the queue") {
    keel::test::manual_loop loop;
    keel::async::spare_buffers spares(loop);
    output_queue out(&spares);
    const std::string text(1'000'000, 'x');
    add(out, 1, "before");
    const auto add_large = [&] {
        out.begin(text.size()) += text;
        out.end({.type = outgoing_message::kind::result, .owner = 2});
    };
    add_large();
    CHECK(take(out, 10'000'000) == "before\n" + text + "\n");
    const std::size_t kept = spares.bytes();
    CHECK(kept >= text.size());
    CHECK(out.begin().capacity() < 100);
    add_large();
    CHECK(spares.bytes() < kept);
    CHECK(take(out, 500'000) == text.substr(0, 500'000));
    CHECK(take(out, 10'000'000) == text.substr(500'000) + "\n");
    CHECK(spares.bytes() == kept);
}
