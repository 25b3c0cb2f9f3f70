// tools/dev/find_coroutine_trap must find every marked line. g++ 12 miscompiles these forms. The form with `new` is
// miscompiled only for some types; it is marked because the source does not show which.

#include "trap_common.hpp"

task<int> body() {
    aggregate named;
    bool yes = true;
    int sum = 0;
    sum += co_await take(aggregate{.text = "x", .number = 2});                          // trap
    sum += co_await take({.text = "x", .number = 2});                                   // trap
    sum += co_await take(aggregate("x", 2));                                            // trap
    sum += co_await read_truncated(aggregate{.text = "x", .number = 2});                // trap
    sum += co_await take_or_default(2);                                                 // trap
    sum += co_await take_optional(aggregate{.text = "x", .number = 2});                 // trap
    sum += co_await take(aggregate{}.with(2));                                          // trap
    sum += co_await take(yes ? aggregate(named) : make());                              // trap
    sum += co_await take_constructed(yes ? constructed("x") : constructed("y"));        // trap
    sum += co_await call([named] { return named.number; });                             // trap
    sum += add(aggregate{.text = "x", .number = 2}, co_await number());                 // trap
    sum += add(aggregate{.text = "x", .number = co_await number()}, 1);                 // trap
    aggregate filled{.text = "x", .number = co_await number()};                         // trap
    if (co_await take({.text = "x", .number = 2})) ++sum;                               // trap
    auto made = std::unique_ptr<constructed>(new constructed("x", co_await number()));  // trap
    co_return co_await take(aggregate{.text = "x", .number = sum + filled.number});     // trap
}

int main() { return body().run() == 0; }
