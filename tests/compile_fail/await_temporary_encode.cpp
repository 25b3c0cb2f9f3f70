// only g++ before 13
// expect: keel: g++ 12 destroys a temporary struct twice in a co_await: give the value to encode a name first
// at most 1 errors, 20 lines
#include <keel/client.hpp>

struct args {
    std::string text;
};
KEEL_DESCRIBE(args, text)

keel::task<void> f(keel::client& c) { co_await c.call_tool("echo", keel::encode(args{.text = "x"})); }
