// Large buffers are kept for the next message, within limits, and freed when none comes.

#include "async/spare_buffers.hpp"
#include "async/input_buffer.hpp"
#include "support/manual_loop.hpp"

#include <doctest/doctest.h>

using namespace keel;
using namespace keel::async;
using keel::test::manual_loop;

namespace {

constexpr std::size_t mebibyte = 1024 * 1024;

std::string with_capacity(std::size_t n) {
    std::string s;
    s.reserve(n);
    return s;
}

}  // namespace

TEST_CASE("J1: spare buffers that are not used for a second are freed") {
    manual_loop loop;
    spare_buffers spares(loop);
    spares.put(with_capacity(mebibyte));
    CHECK(spares.bytes() >= mebibyte);
    loop.advance(spare_buffers::keep_time);  // it was used in this interval
    CHECK(spares.bytes() >= mebibyte);
    loop.advance(spare_buffers::keep_time);
    CHECK(spares.bytes() == 0);
    CHECK(spares.empty());
    CHECK(loop.timers() == 0);  // an idle program has nothing to do
}

TEST_CASE("spare buffers in use are kept with one timer") {
    manual_loop loop;
    spare_buffers spares(loop);
    spares.put(with_capacity(mebibyte));
    for (int i = 0; i != 20; ++i) {
        loop.advance(spare_buffers::keep_time / 2);
        std::string taken = spares.take(1000);
        CHECK(taken.capacity() >= mebibyte);
        spares.put(std::move(taken));
        CHECK(loop.timers() == 1);
    }
    loop.advance(2 * spare_buffers::keep_time);
    CHECK(spares.empty());
}

TEST_CASE("the largest spare buffer is taken, with its content, and only if it is large enough") {
    manual_loop loop;
    spare_buffers spares(loop);
    spares.put(with_capacity(mebibyte));
    spares.put(std::string(2 * mebibyte, 'x'));
    CHECK(spares.take(3 * mebibyte).capacity() < 100);
    std::string taken = spares.take(1);
    CHECK(taken.size() == 2 * mebibyte);  // initialized memory need not be initialized again
    CHECK(spares.take(1).capacity() < 2 * mebibyte);
    CHECK(spares.take(1).capacity() < 100);
}

TEST_CASE("J1: the number and the total size of spare buffers are limited, and small ones are not kept") {
    manual_loop loop;
    spare_buffers spares(loop);
    spares.put(with_capacity(spare_buffers::smallest / 2));
    CHECK(spares.empty());
    for (std::size_t i = 1; i <= 10; ++i) spares.put(with_capacity(i * 100'000));
    CHECK(spares.bytes() >= 3'400'000);  // the four largest
    CHECK(spares.bytes() < 3'500'000);
    spares.put(with_capacity(spare_buffers::default_limit + 1));
    CHECK(spares.bytes() < 3'500'000);
    spares.put(with_capacity(spare_buffers::default_limit - mebibyte));
    CHECK(spares.bytes() <= spare_buffers::default_limit);
    CHECK(spares.take(20 * mebibyte).capacity() >= 20 * mebibyte);
    spares.put(with_capacity(mebibyte));
    spares.limit(mebibyte / 2);
    CHECK(spares.empty());
}

TEST_CASE("spare buffers may be destroyed before their timer expires") {
    manual_loop loop;
    {
        spare_buffers spares(loop);
        spares.put(with_capacity(mebibyte));
    }
    loop.advance(spare_buffers::keep_time);
}

TEST_CASE("an input buffer accepts pieces that were read into its room, and copies the others") {
    manual_loop loop;
    spare_buffers spares(loop);
    input_buffer in(&spares);
    in.append("abc");
    std::span<char> room = in.room(100'000);
    CHECK(room.size() >= 100'000);
    std::fill_n(room.data(), 5, 'd');
    in.append({room.data(), 5});
    in.append("e");
    CHECK(in.text() == "abcddddde");
    const char* const memory = in.text().data();
    in.clear(spare_buffers::smallest);
    CHECK(in.empty());
    CHECK(in.capacity() < 100);
    CHECK(spares.bytes() >= 100'000);
    // The next large message gets the same memory.
    in.append(std::string(70'000, 'x'));
    CHECK(in.text().data() == memory);
    CHECK(in.text() == std::string(70'000, 'x'));
    in.clear(std::string::npos);
    CHECK(in.room(1).data() == memory);
}
