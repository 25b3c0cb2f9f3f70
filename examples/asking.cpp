// Asking the user during a call (elicitation and sampling): forms in several rounds, two questions at once, a step that must run
// only once, choices known at run time, a web page, the client's model. One handler serves every revision of the protocol.

#include <keel/async.hpp>
#include <keel/main.hpp>

#include <atomic>
#include <cstdlib>
#include <string>

namespace json = keel::json;

struct trip {
    std::string city;
    int days = 3;
};
KEEL_DESCRIBE(trip, (city, "Where to", keel::min_length(2)), (days, "How long", keel::minimum(1), keel::maximum(30)))

struct room {
    bool sea_view = false;
};
KEEL_DESCRIBE(room, (sea_view, "Room with a sea view", keel::defaulted))

struct guest {
    std::string name;
    std::optional<std::string> email;
};
KEEL_DESCRIBE(guest, name, (email, keel::format("email")))

struct consent {
    bool yes = false;
};
KEEL_DESCRIBE(consent, (yes, "Book it?"))

std::atomic<int> reservations{0};  // stands for a reservation system outside this program

keel::task<void> ask_room(keel::context& ctx, keel::elicited<room>& into) {
    into = co_await ctx.elicit<room>("room", "Which room?");
}
keel::task<void> ask_guest(keel::context& ctx, keel::elicited<guest>& into) {
    into = co_await ctx.elicit<guest>("guest", "Who travels?");
}

keel::task<std::string> book(keel::context& ctx) {
    keel::elicited<trip> where = co_await ctx.elicit<trip>("trip", "Where to?");
    if (where.action == keel::elicit_action::decline) co_return "Then not.";
    if (!where) co_return "Maybe later.";

    int number = co_await ctx.once("reserve", [] { return ++reservations; });

    keel::elicited<room> sleeping;
    keel::elicited<guest> traveller;
    co_await keel::with_scope([&](keel::scope& both) -> keel::task<void> {
        both.spawn(ask_room(ctx, sleeping));
        both.spawn(ask_guest(ctx, traveller));
        co_return;
    });
    if (!sleeping || !traveller) co_return "Reservation " + std::to_string(number) + " is given up.";

    std::string offer = traveller->name + " to " + where->city + (sleeping->sea_view ? ", with a view" : "");
    keel::elicited<consent> sure = co_await ctx.elicit<consent>("sure", offer + ": book it?");
    if (!sure || !sure->yes) co_return "Reservation " + std::to_string(number) + " is given up.";
    co_return "Reservation " + std::to_string(number) + ": " + offer;
}

// A form whose choices are known only at run time.
keel::task<std::string> pick_ship(keel::context& ctx) {
    json::value form = json::parse(R"({
        "type": "object",
        "properties": {
            "ship": {"type": "string", "oneOf": [{"const": "n", "title": "Nina"}, {"const": "p", "title": "Pinta"}]}
        },
        "required": ["ship"]
    })");
    keel::elicited<json::value> answer = co_await ctx.elicit("ship", "Which ship?", form);
    if (!answer) co_return "no ship";
    co_return answer.value["ship"] == "n" ? "Nina" : "Pinta";
}

// Sensitive data, such as a payment, must not pass through the client: use a web page.
keel::task<std::string> pay(keel::context& ctx) {
    keel::url_elicited page = co_await ctx.elicit_url("pay", "Please pay", "https://example.com/pay/42");
    if (!page) co_return "not paid";
    ctx.url_elicitation_complete(page);  // a real server calls this when its web page reports completion
    co_return "the page was opened";
}

// Asks the client's model (sampling). A client without a model still gets an answer.
keel::task<std::string> describe(keel::context& ctx) {
    std::string text;
    try {
        keel::sampling_request request("Describe Oslo in one sentence.", 100);
        keel::sampling_result answer = co_await ctx.sample("describe", request);
        text = answer.text();
    } catch (const keel::error& e) {
        if (e.kind() != keel::error_kind::unavailable) throw;
        text = "Oslo is the capital of Norway.";
    }
    co_return text;
}

int main(int argc, char** argv) {
    keel::server_options options;
    // The first key encrypts, every key decrypts. To rotate: put the new key first, keep the old one for `expires_after`.
    if (const char* key = std::getenv("BOOKING_KEY")) options.asking.keys.push_back(key);
    if (const char* old = std::getenv("BOOKING_OLD_KEY")) options.asking.keys.push_back(old);
    options.asking.expires_after = std::chrono::minutes(30);
    keel::server server({.name = "booking", .version = "1.0.0"}, options);

    server.add_tool("book", "Books a trip, asking the user", &book);
    server.add_tool("pick_ship", "Lets the user choose a ship", &pick_ship);
    server.add_tool("pay", "Sends the user to a page", &pay);
    server.add_tool("describe", "Describes a city", &describe);
    return keel::main(server, argc, argv);
}
