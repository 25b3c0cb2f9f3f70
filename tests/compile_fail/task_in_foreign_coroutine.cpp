// expect: keel: a keel::task can be awaited only in a coroutine that returns keel::task
#include <keel/task.hpp>

struct foreign {
    struct promise_type {
        foreign get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
};

keel::task<int> seven();

foreign wait() { co_await seven(); }
