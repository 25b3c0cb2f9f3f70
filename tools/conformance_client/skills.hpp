#pragma once

// Skills (the extension io.modelcontextprotocol/skills): instructions that a server offers as files. A list says what the
// files must be; they are fetched when a skill is loaded, and used only when they are that.

#include <keel/client.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace keel::conformance {

inline constexpr std::string_view skills_extension = "io.modelcontextprotocol/skills";

struct skill_file {
    std::string uri = {};
    std::string digest = {};  // "sha256:…"
    std::uint64_t size = 0;
};

struct skill {
    std::string uri = {};  // of its SKILL.md
    json::value front_matter = {};
    std::optional<std::vector<skill_file>> files = {};  // none: they may change, and cannot be verified
};

/// Thrown for a file that is not what the list has promised. Nothing of it may be used.
class skill_refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// `c` and `s` outlive the tasks.

/// Every skill the server has. No file is fetched.
task<std::vector<skill>> list_skills(client& c);
/// The files, verified: SKILL.md first, the others only when that one is right.
task<std::vector<std::string>> load_skill(client& c, const skill& s);

}  // namespace keel::conformance
