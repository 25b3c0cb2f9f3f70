#include "explore_http/search.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <random>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define KEEL_SLOW_BUILD true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define KEEL_SLOW_BUILD true
#endif
#endif
#ifndef KEEL_SLOW_BUILD
#define KEEL_SLOW_BUILD false
#endif

namespace keel::explore_http {

bool is_slow_build() noexcept { return KEEL_SLOW_BUILD; }

namespace {

/// Orderings end in different ways, chosen only by their events.
unsigned finale_of(const events& trace) noexcept {
    std::uint64_t h = 0x9E3779B97F4A7C15u;
    for (event e : trace) h = (h ^ static_cast<std::uint64_t>(e)) * 0xBF58476D1CE4E5B9u, h ^= h >> 29;
    return static_cast<unsigned>((h >> 32) % finales);
}

template <class Run>
std::optional<std::string> problem_of(Run run) {
    try {
        run();
    } catch (const violation& v) {
        return v.what;
    } catch (const std::exception& e) {
        return std::string("exception: ") + e.what();
    }
    return std::nullopt;
}

void note(tally& t, const setting& s, const events& trace, unsigned finale, std::string what) {
    ++t.broken;
    if (!t.shortest || trace.size() < t.shortest->events.size()) {
        t.shortest = counterexample{&s, trace, finale, std::move(what)};
    }
}

/// Enumerates orderings by counting: the choice at each step is a digit. The core cannot be copied, so each ordering
/// runs from the start.
template <class Offer>
void enumerate(const setting& s, Offer offer, const search_options& options, tally& t) {
    struct digit {
        std::size_t choice;
        std::size_t alternatives;
    };
    std::vector<digit> path;
    events trace;
    events offered;
    while (t.orderings < options.limit) {
        trace.clear();
        unsigned finale = 0;
        auto problem = problem_of([&] {
            world w(s);
            for (std::size_t at = 0;; ++at) {
                offer(w, trace, offered);
                if (offered.empty()) break;
                if (at == path.size()) path.push_back({0, offered.size()});
                trace.push_back(offered[path[at].choice]);
                w.apply(trace.back());
            }
            finale = finale_of(trace);
            w.run_to_end(finale);
        });
        ++t.orderings;
        if (problem) {
            note(t, s, trace, finale, std::move(*problem));
            if (options.stop_when_broken) return;
            path.resize(trace.size());
        }
        while (!path.empty() && ++path.back().choice == path.back().alternatives) path.pop_back();
        if (path.empty()) return;
    }
}

}  // namespace

void search_orderings(const scenario& s, const search_options& options, tally& t) {
    std::array<unsigned, kinds_of_events> listed{};
    for (event e : s.events) ++listed[static_cast<std::size_t>(e)];
    auto offer = [listed](const world& w, const events& trace, events& out) {
        auto left = listed;
        for (event e : trace) --left[static_cast<std::size_t>(e)];
        out.clear();
        for (unsigned i = 0; i < kinds_of_events; ++i) {
            if (event e = static_cast<event>(i); left[i] > 0 && w.enabled(e)) out.push_back(e);
        }
    };
    enumerate(*s.where, offer, options, t);
}

void search_depth(const setting& s, unsigned depth, const search_options& options, tally& t) {
    auto offer = [depth](const world& w, const events& trace, events& out) {
        if (trace.size() < depth) w.offer(out);
        else out.clear();
    };
    enumerate(s, offer, options, t);
}

void search_random(const setting& s, unsigned depth, std::uint64_t count, const search_options& options, tally& t) {
    std::mt19937_64 random(options.seed);
    events trace;
    events offered;
    for (std::uint64_t i = 0; i < count && t.orderings < options.limit; ++i) {
        trace.clear();
        // Each ordering omits some kinds of events; otherwise most orderings end early and rare combinations are not
        // reached.
        const std::uint64_t left_out = random() & random();
        const auto finale = static_cast<unsigned>(random() % finales);
        auto problem = problem_of([&] {
            world w(s);
            while (trace.size() < depth) {
                w.offer(offered);
                std::erase_if(offered, [&](event e) {
                    return e != event::send_piece && (left_out >> static_cast<unsigned>(e) & 1) != 0;
                });
                if (offered.empty()) break;
                trace.push_back(offered[random() % offered.size()]);
                w.apply(trace.back());
            }
            w.run_to_end(finale);
        });
        ++t.orderings;
        if (!problem) continue;
        note(t, s, trace, finale, std::move(*problem));
        if (options.stop_when_broken) return;
    }
}

std::optional<std::string> replay(const setting& s, const events& trace, unsigned finale) {
    return problem_of([&] {
        world w(s);
        for (event e : trace) {
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
            if (auto problem = replay(*c.where, without, c.finale)) {
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
    std::string out = "broken: " + c.what + "\n  setting: " + std::string(c.where->name) + "\n";
    std::size_t n = 0;
    for (event e : c.events) out += "  " + std::to_string(++n) + ". " + std::string(name_of(e)) + "\n";
    return out + "  " + std::string(name_of_finale(c.finale)) + "\n";
}

}  // namespace keel::explore_http
