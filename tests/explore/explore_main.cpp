// keel-explore: runs more orderings of events against peer_core than the tests do.

#include "explore/scenarios.hpp"
#include "rpc/planted.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using namespace keel::explore;

constexpr const char* usage =
    "keel-explore [--depth N] [--seed S] [--count N] [--random] [--plant NAME]\n"
    "  without --random: every ordering of every scenario, then every ordering of N events (default 5) in each "
    "setting\n"
    "  --random          orderings of N events (default 40), drawn at random; --count says how many (default 1000000)\n"
    "  --seed S          of the random orderings; otherwise the order in which alternatives are tried\n"
    "  --count N         stop after so many orderings\n"
    "  --plant NAME      with a bug planted in the peer; `--plant list` names them\n";

[[noreturn]] void stop(const std::string& why) {
    std::fprintf(stderr, "keel-explore: %s\n%s", why.c_str(), usage);
    std::exit(2);
}

std::uint64_t number(const char* option, const char* text) {
    std::uint64_t n = 0;
    if (!text) stop(std::string(option) + " needs a number");
    auto [end, problem] = std::from_chars(text, text + std::strlen(text), n);
    if (problem != std::errc() || *end != '\0') stop(std::string(option) + ": not a number: " + text);
    return n;
}

void plant(const char* name) {
    using namespace keel::rpc::planted;
    if (!name) stop("--plant needs a name");
    for (const auto& [bug, text] : names) {
        if (std::strcmp(name, "list") == 0) std::printf("%s\n", text);
        else if (std::strcmp(name, text) == 0) return now(bug);
    }
    if (std::strcmp(name, "list") == 0) std::exit(0);
    stop(std::string("no such bug: ") + name);
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t depth = 0;
    std::uint64_t count = 0;
    bool random = false;
    search_options options;
    for (int i = 1; i < argc; ++i) {
        std::string_view option = argv[i];
        const char* next = i + 1 < argc ? argv[i + 1] : nullptr;
        if (option == "--random") random = true;
        else if (option == "--help") return std::printf("%s", usage) < 0;
        else if (option == "--depth") depth = number("--depth", next), ++i;
        else if (option == "--seed") options.seed = number("--seed", next), ++i;
        else if (option == "--count") count = number("--count", next), ++i;
        else if (option == "--plant") plant(next), ++i;
        else stop("unknown option " + std::string(option));
    }

    tally t;
    if (count > 0) options.limit = count;
    auto say = [&](std::string_view what, std::uint64_t before) {
        std::printf("%12llu  %.*s\n", static_cast<unsigned long long>(t.orderings - before),
                    static_cast<int>(what.size()), what.data());
        std::fflush(stdout);
    };
    if (random) {
        auto settings = all_settings();
        if (count == 0) options.limit = 1'000'000;
        for (std::size_t i = 0; i < settings.size() && t.broken == 0; ++i) {
            std::uint64_t before = t.orderings;
            std::uint64_t share = (options.limit - before) / (settings.size() - i);
            search_random(settings[i], static_cast<unsigned>(depth > 0 ? depth : 50), share, options, t);
            say(settings[i].name, before);
        }
    } else {
        for (const scenario& s : all_scenarios()) {
            if (t.broken > 0) break;
            std::uint64_t before = t.orderings;
            search_orderings(s, options, t);
            say(s.name, before);
        }
        for (const setting& s : all_settings()) {
            if (t.broken > 0) break;
            std::uint64_t before = t.orderings;
            search_depth(s, all_kinds, static_cast<unsigned>(depth > 0 ? depth : 5), options, t);
            say(std::string("everything, in each order: ") + std::string(s.name), before);
        }
    }
    std::printf("explored %llu orderings\n", static_cast<unsigned long long>(t.orderings));
    if (!t.shortest) return 0;
    std::printf("%s", describe(shrink(*t.shortest)).c_str());
    return 1;
}
