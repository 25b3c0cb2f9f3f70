#include "explore/search.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <random>
#include <tuple>

namespace keel::explore {

namespace {

std::uint64_t mix(std::uint64_t h, std::uint64_t v) noexcept {
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

std::uint64_t hash_of(const setting& s, const events& trace) noexcept {
    std::uint64_t h = std::hash<std::string_view>()(s.name);
    for (const event& e : trace) {
        h = mix(h, static_cast<std::uint64_t>(e.kind) | static_cast<std::uint64_t>(e.who) << 8 |
                       static_cast<std::uint64_t>(e.life) << 16);
    }
    return mix(h, trace.size());
}

// Returns the violation that `run` throws, if any. Any other exception of the core is a violation too.
template <class Run>
std::optional<std::string> problem_of(Run run) {
    try {
        run();
    } catch (const violation& v) {
        return v.what;
    } catch (const std::exception& e) {
        return std::string("an exception came out: ") + e.what();
    }
    return std::nullopt;
}

void note(tally& t, const setting& s, const events& trace, unsigned finale, std::string what) {
    ++t.broken;
    if (!t.shortest || trace.size() < t.shortest->events.size()) {
        t.shortest = counterexample{s, trace, finale, std::move(what)};
    }
}

// Runs one ordering after another. At each step the source offers the possible events and is notified of the chosen
// one; the path of choices is incremented like the digits of a number. The core cannot be copied, so each ordering runs
// from the start.
template <class Source>
void count_up(const setting& s, Source source, const search_options& options, tally& t) {
    struct digit {
        std::size_t choice;
        std::size_t alternatives;
    };
    std::vector<digit> path;
    events trace;
    events offered;
    while (t.orderings < options.limit) {
        trace.clear();
        source.restart();
        std::size_t at = 0;
        unsigned finale = 0;
        auto problem = problem_of([&] {
            world w(s);
            for (;; ++at) {
                source.offer(w, at, offered);
                if (offered.empty()) break;
                if (at == path.size()) path.push_back({0, offered.size()});
                std::size_t choice = path[at].choice;
                if (options.seed != 0) choice = (choice + mix(options.seed, at + 1)) % offered.size();
                event e = offered[choice];
                trace.push_back(e);
                source.take(e);
                w.apply(e);
            }
            finale = static_cast<unsigned>((hash_of(s, trace) >> 32) % finales);
            w.run_to_end(finale);
        });
        ++t.orderings;
        if (options.hashes) options.hashes->push_back(hash_of(s, trace));
        if (problem) {
            note(t, s, trace, finale, std::move(*problem));
            if (options.stop_when_broken) return;
            path.resize(trace.size());  // orderings after the failing step were not explored
        }
        while (!path.empty() && ++path.back().choice == path.back().alternatives) path.pop_back();
        if (path.empty()) return;
    }
}

// The events of a set, each as often as it is listed. Equal events are interchangeable: only one of them is offered.
class set_source {
public:
    explicit set_source(events all) : all_(std::move(all)), used_(all_.size()) {
        auto key = [](const event& e) { return std::tuple(e.kind, e.who, e.life); };
        std::sort(all_.begin(), all_.end(), [&](const event& x, const event& y) { return key(x) < key(y); });
    }
    void restart() { std::fill(used_.begin(), used_.end(), false); }
    void offer(const world& w, std::size_t, events& out) {
        out.clear();
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (used_[i] || (i > 0 && all_[i] == all_[i - 1] && !used_[i - 1])) continue;
            if (w.enabled(all_[i])) out.push_back(all_[i]);
        }
    }
    void take(const event& e) {
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (used_[i] || !(all_[i] == e)) continue;
            used_[i] = true;
            return;
        }
    }

private:
    events all_;
    std::vector<bool> used_;
};

class depth_source {
public:
    depth_source(std::uint32_t kinds, unsigned depth) : kinds_(kinds), depth_(depth) {}
    void restart() {}
    void offer(const world& w, std::size_t at, events& out) {
        out.clear();
        if (at < depth_) w.offer(kinds_, out);
    }
    void take(const event&) {}

private:
    std::uint32_t kinds_;
    unsigned depth_;
};

}  // namespace

void search_orderings(const scenario& s, const search_options& options, tally& t) {
    count_up(s.setting, set_source(s.events), options, t);
}

void search_depth(const setting& s, std::uint32_t kinds, unsigned depth, const search_options& options, tally& t) {
    count_up(s, depth_source(kinds, depth), options, t);
}

void search_random(const setting& s, unsigned depth, std::uint64_t count, const search_options& options, tally& t) {
    std::mt19937_64 random(mix(options.seed, std::hash<std::string_view>()(s.name)));
    events trace;
    events offered;
    // Each walk omits some kinds of events; otherwise most walks end early and rare combinations are not reached.
    for (std::uint64_t i = 0; i < count && t.orderings < options.limit; ++i) {
        trace.clear();
        std::uint32_t kinds = all_kinds & ~static_cast<std::uint32_t>(random() & random());
        kinds |= std::uint32_t{1} << static_cast<unsigned>(what::arrive) | std::uint32_t{1}
                                                                               << static_cast<unsigned>(what::begin);
        auto finale = static_cast<unsigned>(random() % finales);
        auto problem = problem_of([&] {
            world w(s);
            while (trace.size() < depth) {
                w.offer(kinds, offered);
                if (offered.empty()) break;
                event e = offered[random() % offered.size()];
                trace.push_back(e);
                w.apply(e);
            }
            w.run_to_end(finale);
        });
        ++t.orderings;
        if (options.hashes) options.hashes->push_back(hash_of(s, trace));
        if (!problem) continue;
        note(t, s, trace, finale, std::move(*problem));
        if (options.stop_when_broken) return;
    }
}

std::optional<std::string> replay(const setting& s, const events& trace, unsigned finale) {
    return problem_of([&] {
        world w(s);
        for (const event& e : trace) {
            if (w.enabled(e)) w.apply(e);
        }
        w.run_to_end(finale);
    });
}

counterexample shrink(counterexample c) {
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (std::size_t i = 0; i < c.events.size();) {
            events without = c.events;
            without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
            if (auto problem = replay(c.setting, without, c.finale)) {
                c.events = std::move(without);
                c.what = std::move(*problem);
                smaller = true;
            } else {
                ++i;
            }
        }
    }
    return c;
}

std::string describe(const counterexample& c) {
    std::string out = "broken: " + c.what + "\n  setting: " + std::string(c.setting.name) + "\n";
    std::size_t n = 0;
    for (const event& e : c.events) out += "  " + std::to_string(++n) + ". " + name_of(e) + "\n";
    return out + "  " + name_of_finale(c.finale) + "\n";
}

}  // namespace keel::explore
