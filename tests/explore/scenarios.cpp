#include "explore/scenarios.hpp"

namespace keel::explore {

namespace {

using namespace std::chrono_literals;

constexpr setting plain{.name = "server"};
constexpr setting client{.name = "client", .role = rpc::role::client};
constexpr setting draining{.name = "server that drains after the end of input", .drain_on_eof = 3s};
constexpr setting hasty{.name = "server whose own requests time out first", .drain_on_eof = 3s, .request_idle = 500ms};
constexpr setting patient{.name = "server whose own requests time out last", .request_idle = 40s};
constexpr setting tight{.name = "server with no room in its queue", .tight = true};
constexpr setting shielding{.name = "server whose first request cannot be cancelled", .shield_first = true};
constexpr setting one_at_a_time{.name = "server with one handler at a time", .max_in_flight = 1};

events operator+(events x, const events& y) {
    x.insert(x.end(), y.begin(), y.end());
    return x;
}

event of(what kind, who w = who::a, std::uint8_t life = 1) { return {kind, w, life}; }

// A request that is processed completely.
events served(who w, what how, std::uint8_t life = 1) {
    return {of(what::arrive, w, life), of(what::begin, w, life), of(how, w, life)};
}

events each(std::initializer_list<what> kinds, who w = who::a, std::uint8_t life = 1) {
    events out;
    for (what kind : kinds) out.push_back(of(kind, w, life));
    return out;
}

const events a = served(who::a, what::finish);
const events b = served(who::b, what::finish);
const events b_throws = served(who::b, what::fail);
const events stalled = each({what::stall, what::resume});
const events asks = each({what::ask, what::reply});

}  // namespace

std::vector<setting> all_settings() {
    return {plain, client, draining, hasty, patient, tight, shielding, one_at_a_time};
}

std::vector<scenario> cancelling() {
    return {
        {"both are cancelled, and input ends", plain,
         a + b_throws + each({what::cancel, what::cancel}) + each({what::cancel}, who::b) + each({what::eof})},
        {"both are cancelled while nothing is read", plain,
         a + b + each({what::cancel}) + each({what::cancel}, who::b) + stalled},
        {"both are cancelled, and writing fails", client,
         a + b_throws + each({what::cancel, what::write_error}) + each({what::cancel}, who::b)},
        {"both talk, one is cancelled", plain,
         a + b + each({what::progress, what::log, what::cancel}) + each({what::progress}, who::b)},
        {"a cancel comes twice around a stalled answer", plain,
         a + each({what::progress, what::cancel, what::cancel}) + stalled + each({what::eof})},
        {"a cancel meets an answer that is half written", plain,
         a + b + each({what::progress, what::cancel, what::stall, what::dribble, what::next_frame})},
        {"progress and logs, a cancel, and a stall", plain,
         a + each({what::progress, what::log, what::cancel, what::close}) + stalled},
        {"a request that cannot be cancelled", shielding,
         a + b + each({what::cancel, what::cancel, what::eof}) + each({what::cancel}, who::b)},
        {"more requests than handlers", one_at_a_time,
         a + b + each({what::cancel}) + each({what::cancel}, who::b) + stalled + each({what::eof})},
    };
}

std::vector<scenario> reused_ids() {
    const events again = served(who::a, what::finish, 2);
    return {
        {"an id is used again after a cancel", plain,
         a + again + each({what::cancel, what::cancel, what::eof, what::progress}) + each({what::progress}, who::a, 2)},
        {"an id is used again while nothing is read", plain, a + again + each({what::cancel, what::cancel}) + stalled},
        {"an id is used again beside another request", plain,
         a + again + b_throws + each({what::cancel, what::cancel})},
        {"an id is used three times", plain,
         a + again + served(who::a, what::quit, 3) + each({what::cancel, what::cancel})},
        {"an id is used again by a request that asks", plain,
         a + again + each({what::ask, what::reply, what::cancel}) + each({what::ask, what::reply}, who::a, 2)},
    };
}

std::vector<scenario> asking() {
    return {
        {"a handler asks, and input ends", plain, a + asks + each({what::cancel, what::eof, what::progress}) + stalled},
        {"a handler asks, and the connection breaks", plain,
         a + asks + each({what::cancel, what::read_error, what::close, what::tick})},
        {"two handlers ask, and one is cancelled", plain,
         a + b + asks + each({what::ask, what::reply}, who::b) + each({what::cancel})},
        {"a handler asks twice and is cancelled", plain, a + asks + asks + each({what::cancel}) + stalled},
        {"a handler asks, hears of progress, and time passes", hasty,
         a + each(
                 {what::ask, what::peer_progress, what::reply_error, what::tick, what::tick, what::cancel, what::eof})},
        {"a handler asks and gives up", plain, a + asks + each({what::give_up, what::cancel, what::dribble}) + stalled},
        {"we ask, and the connection ends", plain,
         each({what::ask, what::ask, what::reply, what::give_up}, who::self) + stalled +
             each({what::eof, what::tick, what::dribble})},
        {"two requests, and all that can befall them", plain,
         a + b_throws + asks + each({what::progress, what::cancel, what::cancel}) + each({what::cancel}, who::b)},
        {"two requests, one asks, and its deadline passes", hasty,
         a + b_throws + asks + each({what::cancel, what::tick}) + stalled},
        {"we ask while we serve", client,
         a + each({what::cancel, what::tick}) + each({what::ask, what::reply, what::reply}, who::self) + stalled},
    };
}

std::vector<scenario> ending() {
    return {
        {"a drain after the end of input", draining,
         a + b_throws + each({what::ask, what::cancel, what::eof, what::tick, what::tick})},
        {"a drain, and nothing is read", draining,
         a + each({what::progress, what::eof, what::tick, what::tick, what::write_error}) + stalled},
        {"close with a drain", plain, a + b + each({what::cancel, what::close_drain, what::tick, what::eof})},
        {"requests come while we close", plain,
         a + b + each({what::close_drain}) + each({what::cancel}, who::b) + stalled},
        {"every end of a connection at once", plain,
         a + each({what::ask, what::eof, what::read_error, what::write_error, what::close, what::close_drain})},
        {"every end of a connection at once, for a client", client,
         a + each({what::cancel, what::eof, what::write_error, what::close, what::tick}) + stalled},
        {"a handler closes its own connection", plain,
         a + b + each({what::close_own, what::progress, what::cancel, what::ask})},
        {"a peer that never reads again", patient,
         a + each({what::progress, what::cancel, what::stall, what::tick, what::tick, what::ask, what::close})},
        {"cleanup takes too long", plain, a + b + each({what::cancel, what::close, what::tick, what::tick})},
    };
}

std::vector<scenario> under_pressure() {
    return {
        {"no room in the queue", tight,
         a + each({what::progress, what::progress, what::log, what::cancel, what::eof}) + stalled},
        {"no room in the queue for two", tight,
         a + b + each({what::progress}) + each({what::progress}, who::b) + stalled},
        {"no room in the queue for questions", tight,
         a + each({what::progress, what::ask, what::ask, what::tick, what::cancel}) + stalled},
    };
}

std::vector<scenario> batches() {
    const event both = of(what::arrive_together);
    return {
        {"a batch", plain,
         events{both} + each({what::begin, what::finish, what::cancel, what::progress}) +
             each({what::begin, what::fail, what::cancel}, who::b) + each({what::eof})},
        {"a batch while nothing is read", plain,
         events{both} + each({what::begin, what::finish, what::cancel, what::progress}) +
             each({what::begin, what::fail, what::cancel}, who::b) + stalled},
        {"two batches", plain,
         events{both, both} + each({what::begin, what::finish, what::cancel, what::stall}) +
             each({what::begin, what::finish, what::cancel}, who::b) + each({what::begin, what::finish}, who::a, 2)},
    };
}

std::vector<scenario> all_scenarios() {
    std::vector<scenario> all;
    for (const auto& group : {cancelling(), reused_ids(), asking(), ending(), under_pressure(), batches()}) {
        all.insert(all.end(), group.begin(), group.end());
    }
    return all;
}

}  // namespace keel::explore
