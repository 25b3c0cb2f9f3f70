#include "explore/event.hpp"

namespace keel::explore {

std::string name_of(const event& e) {
    std::string id = e.who == who::a ? "a" : e.who == who::b ? "b" : e.who == who::probe ? "p" : "we";
    std::string life = e.who == who::self ? id : id + std::to_string(e.life);
    switch (e.kind) {
        case what::arrive: return life + " arrives";
        case what::arrive_together: return "a and b arrive in one batch";
        case what::cancel: return "the peer cancels " + id;
        case what::reply: return "the peer answers what " + life + " asked";
        case what::reply_error: return "the peer refuses what " + life + " asked";
        case what::peer_progress: return "the peer reports progress of what " + life + " asked";
        case what::begin: return life + " begins";
        case what::finish: return life + " returns";
        case what::fail: return life + " throws";
        case what::quit: return life + " ends quietly";
        case what::progress: return life + " reports progress";
        case what::log: return life + " logs";
        case what::ask: return life + (e.who == who::self ? " ask the peer" : " asks the peer");
        case what::give_up: return life + (e.who == who::self ? " give up asking" : " gives up asking");
        case what::eof: return "input ends";
        case what::read_error: return "reading fails";
        case what::write_error: return "writing fails";
        case what::stall: return "the peer stops reading";
        case what::resume: return "the peer reads again";
        case what::dribble: return "one byte is taken";
        case what::next_frame: return "one frame is taken";
        case what::close: return "close";
        case what::close_drain: return "close with a drain";
        case what::close_own: return life + " closes its own connection";
        case what::tick: return "the next deadline passes";
    }
    return "?";
}

}  // namespace keel::explore
