// A host for skills: lists them, and loads only skills that can be verified.

#include "scenarios.hpp"
#include "skills.hpp"

#include <vector>

namespace keel::conformance {

namespace {

task<void> show_skills(client& c, const json::value&) {
    std::vector<skill> skills = co_await list_skills(c);
    for (const skill& s : skills) say(s.uri + ": " + json::to_string(s.front_matter));
}

task<void> load_skills(client& c, const json::value&) {
    std::vector<skill> skills = co_await list_skills(c);
    for (const skill& s : skills) {
        try {
            std::vector<std::string> files = co_await load_skill(c, s);
            say(s.uri + ": loaded, " + std::to_string(files.size()) + " files");
        } catch (const skill_refused& why) {
            say(s.uri + ": refused: " + why.what());
        }
    }
}

constexpr scenario all[] = {
    {"sep-2640-client-no-prefetch", show_skills},
    {"sep-2640-client-verify-digest", load_skills},
    {"sep-2640-client-verify-size", load_skills},
    {"sep-2640-client-verify-frontmatter", load_skills},
};

}  // namespace

std::span<const scenario> skill_scenarios() { return all; }

}  // namespace keel::conformance
