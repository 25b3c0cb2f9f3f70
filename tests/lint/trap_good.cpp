// Looks like trap_bad.cpp, and is compiled correctly by g++ 12. tools/dev/find_coroutine_trap must find nothing here.

#include "trap_common.hpp"

task<int> body() {
    aggregate named{.text = "x", .number = 2};
    bool yes = true;
    int sum = 0;
    sum += co_await take(named);
    sum += co_await take(std::move(named));
    sum += co_await take(make());
    sum += co_await take(aggregate(named));
    sum += co_await take(aggregate());
    sum += co_await take_constructed(constructed("x", 2));
    sum += co_await take_constructed({"x", 2});
    sum += co_await take_constructed({});
    sum += co_await take_trivial({.a = 1, .b = 2});
    sum += co_await take_trivial();
    sum += co_await take_optional(std::optional<aggregate>(named));
    sum += co_await call([&] { return named.number; });
    auto named_call = [named] { return named.number; };
    sum += co_await call(std::move(named_call));
    auto later = take(aggregate{.text = "x", .number = 2});
    sum += co_await std::move(later);
    // The body of the lambda is another function: its temporaries do not live across the co_await outside, and vice
    // versa.
    sum += co_await call([&] { return add(aggregate{.text = "x", .number = 2}, 1); });
    auto inner = [&](int n) -> task<int> {
        int got = co_await number();
        co_return add(aggregate{.text = "x", .number = n}, got);
    };
    sum += co_await inner(yes ? 1 : 2);
    co_return add(aggregate{.text = "x", .number = sum}, 1);
}

int main() { return body().run() == 0; }
