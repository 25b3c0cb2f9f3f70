#include "schema/pattern.hpp"

#include <keel/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

// A regular expression and a text. RE2 accepts a translated expression or rejects it with a reason.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace keel;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::string_view expression = text.substr(0, text.find('\n'));
    const std::string_view rest = text.substr(expression.size());

    std::string why;
    const auto made = validation::pattern::make(expression, why);
    if (!made) {
        if (why.empty()) std::abort();
        return 0;
    }
    // A usable pattern is also a valid regular expression.
    if (!validation::is_regular_expression(expression)) std::abort();
    made->found_in(rest);
    return 0;
}
