#include "support/manual_loop.hpp"

#include <keel/async.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace keel;
using namespace std::chrono_literals;
using test::manual_loop;

namespace {

using trace = std::vector<std::string>;

template <class T>
struct begun_task {
    detail::activity line;
    std::optional<detail::outcome<T>> ended;

    begun_task(manual_loop& l, task<T> work) : line(l) {
        detail::start(line, std::move(work), [this](detail::outcome<T> o) { ended.emplace(std::move(o)); });
    }
    std::string state() const {
        if (!ended) return "running";
        if (ended->index() == 1) return "done";
        try {
            std::rethrow_exception(std::get<0>(*ended));
        } catch (const std::exception& e) {
            return e.what();
        }
    }
};

template <class T>
task<T> value_after(duration d, T value, trace* seen = nullptr) {
    bool stopped = false;
    try {
        co_await sleep_for(d);
    } catch (const cancelled&) {
        stopped = true;
    }
    if (stopped) {
        if (seen) seen->push_back("cancelled");
        throw cancelled();
    }
    co_return std::move(value);
}

task<void> nothing_after(duration d) { co_await sleep_for(d); }

task<int> fail_with_int_after(duration d, std::string what) {
    co_await sleep_for(d);
    throw std::runtime_error(what);
}

/// Has no default constructor and cannot be copied.
struct picky {
    explicit picky(int n) : number(std::make_unique<int>(n)) {}
    std::unique_ptr<int> number;
};

}  // namespace

TEST_CASE("when_all returns the values of its tasks in their order, whichever ends first") {
    manual_loop loop;
    auto work = []() -> task<std::string> {
        auto [number, text, none] =
            co_await when_all(value_after(3s, 7), value_after<std::string>(1s, "seven"), nothing_after(2s));
        static_assert(std::is_same_v<decltype(none), std::monostate>);
        co_return text + std::to_string(number);
    };
    begun_task<std::string> it(loop, work());
    loop.advance(2s);
    CHECK(it.state() == "running");
    loop.advance(1s);
    REQUIRE(it.state() == "done");
    CHECK(std::get<1>(*it.ended) == "seven7");
}

TEST_CASE("when_all passes on values that cannot be copied or default-constructed") {
    manual_loop loop;
    auto work = []() -> task<int> {
        std::vector<task<picky>> many;
        for (int i = 1; i <= 3; ++i) many.push_back(value_after(i * 1s, picky(i)));
        std::vector<picky> all = co_await when_all(std::move(many));
        auto [one] = co_await when_all(value_after(0s, picky(4)));
        co_return *all.at(0).number * 1000 + *all.at(1).number * 100 + *all.at(2).number * 10 + *one.number;
    };
    begun_task<int> it(loop, work());
    loop.advance(10s);
    REQUIRE(it.state() == "done");
    CHECK(std::get<1>(*it.ended) == 1234);
}

TEST_CASE("when_all of no tasks ends") {
    manual_loop loop;
    auto work = []() -> task<std::size_t> {
        co_await when_all();
        std::vector<task<void>> none;
        co_await when_all(std::move(none));
        std::vector<task<int>> no_numbers;
        auto numbers = co_await when_all(std::move(no_numbers));
        co_return numbers.size();
    };
    begun_task<std::size_t> it(loop, work());
    loop.run();
    CHECK(it.state() == "done");
}

TEST_CASE("when_all cancels the other tasks if one fails, and throws when all have ended") {
    for (bool as_vector : {false, true}) {
        CAPTURE(as_vector);
        manual_loop loop;
        trace seen;
        auto work = [&]() -> task<void> {
            if (as_vector) {
                std::vector<task<int>> tasks;
                tasks.push_back(value_after(1h, 1, &seen));
                tasks.push_back(fail_with_int_after(1s, "first"));
                co_await when_all(std::move(tasks));
            } else {
                co_await when_all(value_after(1h, 1, &seen), fail_with_int_after(1s, "first"),
                                  fail_with_int_after(2s, "second"));
            }
        };
        begun_task<void> it(loop, work());
        loop.advance(1s);
        CHECK(seen == trace{"cancelled"});
        CHECK(it.state() == "first");
    }
}

TEST_CASE("when_all_settled lets the other tasks continue if one fails, and returns all outcomes") {
    manual_loop loop;
    trace seen;
    auto work = [&]() -> task<std::string> {
        auto [late, failed, none] =
            co_await when_all_settled(value_after(1h, 5, &seen), fail_with_int_after(1s, "broken"), nothing_after(1s));
        CHECK(late);
        CHECK_FALSE(late.failure());
        CHECK(late.value() == 5);
        CHECK(none);
        none.value();
        CHECK_FALSE(failed);
        CHECK(failed.failure());
        CHECK_THROWS_WITH(failed.value(), "broken");
        std::vector<task<picky>> many;
        many.push_back(value_after(1s, picky(9)));
        std::vector<settled<picky>> all = co_await when_all_settled(std::move(many));
        co_return std::to_string(*all.at(0).value().number);
    };
    begun_task<std::string> it(loop, work());
    loop.advance(2s);
    CHECK(it.state() == "running");
    loop.advance(1h);
    REQUIRE(it.state() == "done");
    CHECK(std::get<1>(*it.ended) == "9");
    CHECK(seen.empty());
}

TEST_CASE("cancelling when_all or when_all_settled cancels all tasks and throws when they have ended") {
    for (bool settle : {false, true}) {
        CAPTURE(settle);
        manual_loop loop;
        trace seen;
        auto work = [&]() -> task<void> {
            if (settle) co_await when_all_settled(value_after(1h, 1, &seen), value_after(2h, 2, &seen));
            else co_await when_all(value_after(1h, 1, &seen), value_after(2h, 2, &seen));
        };
        begun_task<void> it(loop, work());
        loop.advance(1s);
        it.line.stop();
        loop.run();
        CHECK(seen == trace{"cancelled", "cancelled"});
        CHECK(it.state() == "cancelled");
    }
}
