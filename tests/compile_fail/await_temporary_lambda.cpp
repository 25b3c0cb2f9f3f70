// only g++ before 13
// expect: keel: g++ 12 destroys a temporary lambda with captures by copy twice in a co_await: give it a name first
#include <keel/context.hpp>

keel::task<int> f(keel::context ctx, std::string card) {
    co_return co_await ctx.once("charge", [card] { return static_cast<int>(card.size()); });
}
