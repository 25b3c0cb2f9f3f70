#include "schema/metaschemas.hpp"

namespace keel::inline KEEL_ABI::validation {

std::optional<std::string_view> find_metaschema(std::string_view uri) noexcept {
    for (const auto documents : {metaschemas_2020_12(), metaschemas_2019_09(), metaschemas_draft_07()}) {
        for (const metaschema& m : documents) {
            if (m.uri == uri) return m.text;
        }
    }
    return std::nullopt;
}

}  // namespace keel::validation
