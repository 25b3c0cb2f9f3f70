// The peer's state machine with a sequence of events from the bytes, and the checks of the explorer: the first byte
// selects the settings, the second how it ends, each further one the next event.

// The explorer's sources with the library's own core, not the copy with planted bugs.
#include "explore/event.cpp"
#include "explore/world.cpp"
#include "explore/world_checks.cpp"
// Must be included after those above.
#include "explore/search.cpp"
// Must be included after the one above.
#include "explore/scenarios.cpp"

#include "rpc/planted.hpp"

#include <cstdio>
#include <cstdlib>

static_assert(!keel::rpc::planted::is(keel::rpc::planted::answer_after_cancel), "no bug can be planted here");

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace keel::explore;
    static const auto settings = all_settings();
    if (size < 2) return 0;
    const setting& chosen = settings[data[0] % settings.size()];
    const unsigned finale = data[1] % finales;

    events trace;
    events offered;
    std::string broken;
    try {
        world w(chosen);
        for (std::size_t i = 2; i < size && i < 400; ++i) {
            w.offer(all_kinds, offered);
            if (offered.empty()) break;
            trace.push_back(offered[data[i] % offered.size()]);
            w.apply(trace.back());
        }
        w.run_to_end(finale);
    } catch (const violation& v) {
        broken = v.what;
    }
    if (!broken.empty()) {
        std::fputs(describe(shrink({chosen, trace, finale, broken})).c_str(), stderr);
        std::abort();
    }
    return 0;
}
