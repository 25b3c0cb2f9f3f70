// Tools that send requests to the client during a call: elicitation, sampling, roots. One handler serves every
// revision.

#include "demo.hpp"

#include <keel/async.hpp>

#include <string>
#include <vector>

namespace keel::demo {

struct trip {
    std::string city;
    int days = 3;
};
KEEL_DESCRIBE(trip, (city, "Where to", keel::min_length(2)), (days, "How long", keel::minimum(1), keel::maximum(30)))

enum class bed { single, twin };
KEEL_DESCRIBE_ENUM(bed, single, twin)

struct room {
    bed kind = bed::single;
    bool sea_view = false;
};
KEEL_DESCRIBE(room, kind, (sea_view, keel::defaulted))

struct guest {
    std::string name;
    std::optional<std::string> email;
};
KEEL_DESCRIBE(guest, name, (email, keel::format("email")))

struct consent {
    bool book = false;
};
KEEL_DESCRIBE(consent, (book, "Book it?"))

struct summarize_args {
    std::string text;
};
KEEL_DESCRIBE(summarize_args, (text, "What to make shorter"))

namespace {

std::string said(elicit_action action) { return action == elicit_action::decline ? "declined" : "cancelled"; }

task<void> ask_room(context& ctx, elicited<room>& into) { into = co_await ctx.elicit<room>("room", "Which room?"); }
task<void> ask_guest(context& ctx, elicited<guest>& into) {
    into = co_await ctx.elicit<guest>("guest", "Who travels?");
}

// Three rounds; the second asks two questions at once. In revision 2026-07-28 the handler is restarted in each round:
// work that must happen only once is wrapped in `once`.
task<std::string> book_trip(context& ctx) {
    elicited<trip> where = co_await ctx.elicit<trip>("trip", "Where to, and for how long?");
    if (!where) co_return "no trip: " + said(where.action);

    std::int64_t number = co_await ctx.once("number", [&ctx] { return ++ctx.state<memory>().bookings; });

    elicited<room> sleeping;
    elicited<guest> traveller;
    co_await with_scope([&](scope& both) -> task<void> {
        both.spawn(ask_room(ctx, sleeping));
        both.spawn(ask_guest(ctx, traveller));
        co_return;
    });
    if (!sleeping || !traveller) co_return "no trip: " + said(sleeping ? traveller.action : sleeping.action);

    std::string offer = traveller->name + " goes to " + where->city + " for " + std::to_string(where->days) +
                        " days, " + (sleeping->kind == bed::twin ? "twin room" : "single room") +
                        (sleeping->sea_view ? " with a view of the sea" : "");
    elicited<consent> sure = co_await ctx.elicit<consent>("consent", offer + ". Book it?");
    if (!sure) co_return "no trip: " + said(sure.action);
    if (!sure->book) co_return "not booked";
    co_return "booking " + std::to_string(number) + ": " + offer;
}

task<std::string> open_page(context& ctx) {
    url_elicited answer =
        co_await ctx.elicit_url("page", "Please look at the handbook", "https://example.com/handbook");
    if (!answer) co_return "not opened: " + said(answer.action);
    // A real server would send this after the web page has reported that the user is done.
    ctx.url_elicitation_complete(answer);
    co_return "the user agreed to open it";
}

task<std::string> summarize(context& ctx, summarize_args in) {
    sampling_request request("Say this in one sentence:\n\n" + in.text, 200);
    request.system_prompt = "You write short, plain sentences.";
    request.model_preferences = model_preferences{.speed_priority = 0.8};
    sampling_result answer = co_await ctx.sample("summary", request);
    co_return answer.text() + "\n(" + answer.model + ")";
}

task<tool_result> ask_roots(context& ctx) {
    std::string problem;
    try {
        std::vector<root> roots = co_await ctx.list_roots();
        std::string text = std::to_string(roots.size()) + (roots.size() == 1 ? " root" : " roots");
        for (const root& r : roots) text += "\n" + r.uri + (r.name.empty() ? "" : " (" + r.name + ")");
        co_return tool_result(std::move(text));
    } catch (const error& e) {
        if (e.kind() != error_kind::unavailable) throw;
        problem = e.what();
    }
    co_return tool_result::failure(std::move(problem));
}

}  // namespace

void add_client_requests(server& s) {
    s.add_tool("ask_roots", "Asks the client for its roots in the middle of the call", &ask_roots);
    s.add_tool("book_trip", "Asks the user in several steps: forms", &book_trip);
    s.add_tool("open_page", "Sends the user to a web page", &open_page);
    s.add_tool("summarize", "Lets the client's model write a summary", &summarize);
}

}  // namespace keel::demo
