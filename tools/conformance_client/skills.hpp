#pragma once

// Skills (the extension io.modelcontextprotocol/skills): instructions that a server offers as files. A list contains
// their digests; files are fetched when a skill is loaded, and used only if the digests match.

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
    std::optional<std::vector<skill_file>> files = {};  // nothing: the files may change and cannot be verified
};

/// Thrown for a file that differs from the list. None of it may be used.
class skill_refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// `c` and `s` must outlive the tasks.

/// All skills of the server. No file is fetched.
task<std::vector<skill>> list_skills(client& c);
/// The verified files: SKILL.md first, the others only if it is valid.
task<std::vector<std::string>> load_skill(client& c, const skill& s);

}  // namespace keel::conformance
