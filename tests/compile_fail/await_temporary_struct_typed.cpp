// only g++ before 13
// expect: keel: g++ 12 destroys a temporary struct twice in a co_await: give the arguments a name first
#include <keel/client.hpp>

struct args {
    std::string text;
};
KEEL_DESCRIBE(args, text)

keel::task<std::string> f(keel::client& c) { co_return co_await c.call_tool<std::string>("echo", args{.text = "x"}); }
