// g++ 12 destroys temporaries of aggregates twice within a co_await (docs/rough-edges.md). The types of Keel that users write there
// have constructors; tests/compile_fail shows that temporaries of other types are refused.

#include <keel/client.hpp>
#include <keel/context.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

template <class... Ts>
constexpr bool have_constructors = (!std::is_aggregate_v<Ts> && ...);

static_assert(
    have_constructors<keel::call_options, keel::connect_options, keel::subscription_request, keel::round_answers,
                      keel::sampling_request, keel::json::value, keel::json::member_ref>);
static_assert(have_constructors<keel::tool_result, keel::prompt_result, keel::request_round, keel::sampling_result,
                                keel::elicited<keel::json::value>, keel::url_elicited, keel::page<keel::tool>>);

struct text_args {
    std::string text;
};
struct string_number_args {
    int number = 0;
};
struct made_args {
    explicit made_args(std::string t) : text(std::move(t)) {}
    std::string text;
};

}  // namespace

TEST_CASE("arguments with a name, and temporaries that g++ 12 compiles correctly, are accepted in a co_await") {
    using keel::detail::may_be_awaited;
    static_assert(may_be_awaited<text_args&> && may_be_awaited<const text_args&>);
    static_assert(may_be_awaited<string_number_args> && may_be_awaited<made_args> && may_be_awaited<std::string>);
    std::string kept;
    auto by_reference = [&kept] { return kept.size(); };
    auto by_copy = [kept] { return kept.size(); };
    static_assert(may_be_awaited<decltype(by_reference)> && may_be_awaited<decltype(by_copy)&>);
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
    static_assert(!may_be_awaited<text_args> && !may_be_awaited<const text_args> && !may_be_awaited<decltype(by_copy)>);
#else
    static_assert(may_be_awaited<text_args> && may_be_awaited<decltype(by_copy)>);
#endif
    CHECK(by_reference() == by_copy());
}

TEST_CASE("text_arguments takes names and values in turn, of any kind of text") {
    const std::string name = "name";
    const std::string_view value = "Ann";
    CHECK(keel::text_arguments().empty());
    CHECK(keel::text_arguments(name, value, "a", "1", "a", "2") ==
          std::map<std::string, std::string>{{"name", "Ann"}, {"a", "2"}});
}
