// WWW-Authenticate: parsing is bounded, and what is written is parsed as the same challenges.

#include "auth/challenge.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

using namespace keel::auth;

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

bool is_clean(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte >= 0x20 && byte != 0x7f) || c == '\t';
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    std::vector<std::string_view> lines;
    for (std::string_view rest = input; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        lines.push_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const auto list = parse_challenges(lines);
    require(list.size() <= max_challenges);
    for (const challenge& each : list) {
        require(!each.scheme.empty() && each.parameters.size() <= max_parameters);
        require(each.token68.empty() || each.parameters.empty());
        const std::string written = write_challenge(each);
        require(is_clean(written));
        // Values with control characters are changed by writing; all others come back.
        if (!std::all_of(each.parameters.begin(), each.parameters.end(),
                         [](const auto& p) { return is_clean(p.second); }))
            continue;
        const auto again = parse_challenges({written});
        require(again.size() == 1 && again[0] == each);
    }
    return 0;
}
