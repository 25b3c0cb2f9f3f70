#include "server/sealed_state.hpp"

#include <keel/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// Foreign text does not open. A sealed state opens, but not after any change of its text. The digest of parameters does
// not change after writing and reading them.

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace keel;
    static const server_side::state_sealer sealer;
    static const server_side::state_sealer::binding binding = {"tools/call", "digest", "audience", "principal"};
    const std::string_view text(reinterpret_cast<const char*>(data), size);

    const auto foreign = sealer.open(binding, text, 0);
    require(!foreign && foreign.plain.empty());

    const std::string sealed = sealer.seal(binding, text, 10);
    const auto opened = sealer.open(binding, sealed, 9);
    require(opened && opened.plain == text);
    require(!sealer.open(binding, sealed, 10));
    if (size >= 2) {
        std::string changed = sealed;
        char& c = changed[(data[0] * 256u + data[1]) % changed.size()];
        c = c == static_cast<char>(data[0]) ? '!' : static_cast<char>(data[0]);
        require(!sealer.open(binding, changed, 9));
    }

    static json::document document;
    if (const json::value* v = document.read(text)) {
        const std::string digest = server_side::parameter_digest(*v);
        require(digest.size() == 64);
        require(server_side::parameter_digest(json::parse(json::to_string(*v))) == digest);
    }
    return 0;
}
