// A server with random behavior: each call ends once, with a correct outcome.

#include "link_under_test.hpp"

#include <map>
#include <random>
#include <set>

using namespace keel;
using namespace keel::test;
using http_client::transfer_failure;

namespace {

class chaos {
public:
    chaos(std::uint64_t seed, bool modern) : random_(seed), modern_(modern), t_(settings(modern)) {
        t_.when_session_lost = [this] { shake_hands(true); };
        if (!modern) shake_hands(false);
    }

    void run(int steps) {
        for (int i = 0; i < steps; ++i) step();
        t_.loop->advance(std::chrono::minutes(31));  // the maximum time of every call
        for (const auto& each : calls_) CHECK(each->ends == 1);
        for (const auto& [call, what] : calls_by_id_) {
            if (what->outcome.starts_with('{')) CHECK(what->outcome == R"({"for":)" + std::to_string(call) + "}");
        }
        for (const auto& [call, times] : posted_) CHECK(times <= 2);
    }

private:
    static link_settings_for_test settings(bool modern) {
        link_settings_for_test how;
        how.modern = modern;
        how.options.max_body = 4096;
        return how;
    }

    std::uint64_t pick(std::uint64_t n) { return random_() % n; }

    std::shared_ptr<asked> ask(const char* method) {
        rpc::peer::call_options_with_progress options;
        auto id = std::make_shared<rpc::serial>(0);
        options.on_sent = [id](rpc::serial n) { *id = n; };
        auto call = t_.ask(method, "{}", options);
        calls_.push_back(call);
        if (*id != 0) calls_by_id_[*id] = call;
        return call;
    }

    // Like a client: the link is notified of the end, whatever happens.
    void shake_hands(bool renewal) {
        t_.link->speak(false, "");
        struct handshake {
            explicit handshake(loop& on) : line(on) {}
            detail::activity line;
        };
        auto h = std::make_shared<handshake>(*t_.loop);
        rpc::peer::call_options_with_progress options;
        options.total = options.idle = 20s;
        options.want_progress = false;
        detail::start(h->line, rpc::peer::ask(t_.peer, nullptr, "initialize", json::value(), options),
                      [this, h, renewal](detail::outcome<json::value> what) {
                          bool worked = what.index() == 1;
                          t_.link->speak(false, legacy_version);
                          if (worked) {
                              t_.peer->notify("notifications/initialized", "{}", false);
                              if (pick(2)) t_.link->session_opened();
                          }
                          if (renewal) t_.link->session_renewed(worked);
                      });
    }

    void step() {
        switch (pick(12)) {
            case 0:
            case 1:
            case 2: ask("tools/call"); break;
            case 3:
                if (!calls_.empty()) calls_[pick(calls_.size())]->line.stop();
                break;
            case 4: t_.peer->notify("notifications/x", "{}"); break;
            case 5: t_.loop->advance(std::chrono::milliseconds(pick(3000))); break;
            case 6: t_.on->stalled = !t_.on->stalled; break;
            default: respond(); break;
        }
        t_.loop->run();
    }

    void respond() {
        std::vector<std::shared_ptr<seen_request>> open;
        for (const auto& each : t_.on->requests) {
            if (each->open()) open.push_back(each);
        }
        if (open.empty()) return;
        seen_request& r = *open[pick(open.size())];
        if (!r.left && pick(3) == 0) return t_.on->fail(r, transfer_failure::not_sent, "refused");
        r.left = true;
        note_posted(r);
        if (streaming_.contains(r.number)) return stream(r);
        const std::string shown = r.shown();
        const bool question = shown == "POST tools/call" || shown == "POST initialize";
        switch (pick(10)) {
            case 0: return t_.on->fail(r, static_cast<transfer_failure>(1 + pick(2)), "broken");
            case 1:
                return t_.on->reply(r, static_cast<int>(std::vector{400, 404, 404, 405, 401, 500, 302}[pick(7)]), "",
                                    "x");
            case 2: return t_.on->reply(r, 200, "application/json", "{\"jsonrpc\":");
            case 3: return t_.on->accept(r);
            case 4: t_.on->head(r, 200, {{"content-type", "application/json"}}); return t_.on->fail(r);
            default: break;
        }
        if (shown == "GET" || (question && pick(2))) {
            streaming_.insert(r.number);
            if (shown == "GET" && !resumed(r)) ++plain_gets_;
            return t_.on->open_stream(r, session());
        }
        if (question) return t_.on->answer(r, result_for(r), session());
        t_.on->accept(r);
    }

    void stream(seen_request& r) {
        switch (pick(8)) {
            case 0: return t_.on->end(r);
            case 1: return t_.on->fail(r);
            case 2: return t_.on->body(r, ": quiet\n\n");
            case 3:
                return t_.on->event(
                    r, "", "id: " + std::to_string(owner_of(r)) + "-" + std::to_string(++events_) + "\nretry: 50\n");
            case 4: return t_.on->event(r, R"({"jsonrpc":"2.0","method":"notifications/message","params":{}})");
            case 5: return t_.on->body(r, pick(8) ? "data: {oops\n\n" : "data: " + std::string(5000, 'x'));
            case 6:
                if (!modern_) return t_.on->event(r, R"({"jsonrpc":"2.0","id":"q","method":"roots/list"})");
                break;
            default: break;
        }
        if (std::uint64_t id = owner_of(r)) {
            std::string n = std::to_string(id);
            t_.on->event(r, R"({"jsonrpc":"2.0","id":)" + n + R"(,"result":{"for":)" + n + "}}");
        }
    }

    http_client::header_list session() {
        if (modern_ || pick(4) == 0) return {};
        return {{"mcp-session-id", "s" + std::to_string(++sessions_)}};
    }
    bool resumed(const seen_request& r) const { return r.has("Last-Event-ID"); }
    /// The call of this stream; 0 for a stream of no request.
    static std::uint64_t owner_of(const seen_request& r) {
        if (r.what.method == "POST") return std::stoull(r.id());
        std::string id = r.header("Last-Event-ID");
        return id.empty() ? 0 : std::stoull(id);
    }
    std::string result_for(const seen_request& r) { return R"({"for":)" + r.id() + "}"; }
    void note_posted(const seen_request& r) {
        if (r.shown() == "POST tools/call" && noted_.insert(r.number).second) ++posted_[owner_of(r)];
    }

    std::mt19937_64 random_;
    const bool modern_;
    std::vector<std::shared_ptr<asked>> calls_;
    std::map<rpc::serial, std::shared_ptr<asked>> calls_by_id_;
    std::map<std::uint64_t, int> posted_;  // how often the server received it
    std::set<std::uint64_t> noted_;
    std::set<std::uint64_t> streaming_;
    std::uint64_t events_ = 0;
    int sessions_ = 0;
    int plain_gets_ = 0;
    link_under_test t_;  // last member: its destructor checks everything
};

}  // namespace

TEST_CASE("D1, D2, D7, D10, D18: whatever a server does, each call ends once with the correct outcome") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        CAPTURE(seed);
        for (bool modern : {true, false}) {
            chaos c(seed, modern);
            c.run(150);
        }
    }
}
