// only g++ before 13
// expect: keel: g++ 12 destroys a temporary lambda with captures by copy twice in a co_await: give it a name first
#include <keel/async.hpp>

#include <string>

keel::task<void> f(std::string name) {
    co_await keel::with_scope([name](keel::scope& s) -> keel::task<void> {
        s.stop();
        co_return;
    });
}
