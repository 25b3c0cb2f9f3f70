#include <keel/schema.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

// A schema and a value, with a newline between them. The schema is compiled or rejected with a reason, the value is
// accepted or rejected with a reason, and both ways of validation agree.

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace keel;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t cut = text.find('\n');
    if (cut == text.npos) return 0;

    json::document schema_text;
    json::document value_text;
    const json::value* document = schema_text.read(text.substr(0, cut));
    const json::value* value = value_text.read(text.substr(cut + 1));
    if (!document || !value) return 0;

    schema ready;
    try {
        ready = schema(*document, {.check_formats = true, .max_subschemas = 500, .max_work = 20'000});
    } catch (const schema_error& e) {
        require(*e.what() != '\0');
        require(e.where().empty() || e.where().find('/') != std::string::npos);
        return 0;
    }
    const bool fits = ready.accepts(*value);
    decode_error error;
    require(ready.check(*value, error, "arguments") == fits);
    require(fits == error.text.empty());
    require(fits == error.path.empty());
    // A value accepted as borrowed is also accepted as owned.
    require(ready.accepts(json::value(*value)) == fits);
    return 0;
}
