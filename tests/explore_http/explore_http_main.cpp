// keel-explore-http: runs more orderings of events against http1_core than the tests do.

#include "explore_http/scenarios.hpp"
#include "http/planted.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using namespace keel::explore_http;

constexpr const char* usage =
    "usage: keel-explore-http [--depth N] [--random COUNT] [--seed S] [--plant NAME]\n"
    "  runs every ordering of every scenario, then every ordering of N events (default 5) in each setting\n"
    "  --random COUNT  instead: COUNT random orderings of N events (default 40) in each setting\n"
    "  --seed S        seed of the random orderings (default 1)\n"
    "  --plant NAME    with a bug planted in http1_core; `--plant list` lists them\n";

[[noreturn]] void stop(const std::string& why) {
    std::fprintf(stderr, "keel-explore-http: %s\n%s", why.c_str(), usage);
    std::exit(2);
}

std::uint64_t number(const char* option, const char* text) {
    std::uint64_t n = 0;
    if (!text) stop(std::string(option) + " requires a number");
    auto [end, problem] = std::from_chars(text, text + std::strlen(text), n);
    if (problem != std::errc() || *end != '\0') stop(std::string(option) + ": invalid number: " + text);
    return n;
}

void plant(const char* name) {
    using namespace keel::http::planted;
    if (!name) stop("--plant requires a name");
    const bool list = std::strcmp(name, "list") == 0;
    for (const auto& [bug, text] : names) {
        if (list) std::printf("%s\n", text);
        else if (std::strcmp(name, text) == 0) return now(bug);
    }
    if (list) std::exit(0);
    stop(std::string("unknown bug: ") + name);
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t depth = 0;
    std::uint64_t random = 0;
    search_options options;
    for (int i = 1; i < argc; i += 2) {
        std::string_view option = argv[i];
        const char* next = i + 1 < argc ? argv[i + 1] : nullptr;
        if (option == "--help") return std::printf("%s", usage) < 0;
        if (option == "--depth") depth = number("--depth", next);
        else if (option == "--random") random = number("--random", next);
        else if (option == "--seed") options.seed = number("--seed", next);
        else if (option == "--plant") plant(next);
        else stop("unknown option " + std::string(option));
    }
    tally t;
    const auto report = [&](std::string_view name, std::uint64_t before) {
        std::printf("%12llu  %.*s\n", static_cast<unsigned long long>(t.orderings - before),
                    static_cast<int>(name.size()), name.data());
        std::fflush(stdout);
    };
    if (random == 0) {
        for (const scenario& s : all_scenarios()) {
            if (t.broken > 0) break;
            const std::uint64_t before = t.orderings;
            search_orderings(s, options, t);
            report(s.where->name, before);
        }
    }
    for (const setting& s : all_settings()) {
        if (t.broken > 0) break;
        const std::uint64_t before = t.orderings;
        const auto steps = static_cast<unsigned>(depth > 0 ? depth : random > 0 ? 40 : 5);
        if (random > 0) search_random(s, steps, random, options, t);
        else search_depth(s, steps, options, t);
        report("any events: " + std::string(s.name), before);
    }
    std::printf("explored %llu orderings of HTTP/1 events\n", static_cast<unsigned long long>(t.orderings));
    if (!t.shortest) return 0;
    std::printf("%s", describe(shrink(*t.shortest)).c_str());
    return 1;
}
