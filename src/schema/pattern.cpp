#include "schema/pattern.hpp"

#include <re2/re2.h>

#include <cstdint>

namespace keel::inline KEEL_ABI::validation {

namespace {

// The memory limit of a pattern's program and search cache. Above it RE2 rejects the pattern, or searches more slowly
// (still in linear time).
constexpr std::int64_t max_memory = 4 << 20;
constexpr std::size_t max_pattern = 16 * 1024;

std::unique_ptr<re2::RE2> make_machine(const std::string& text) {
    re2::RE2::Options options;
    options.set_log_errors(false);  // the library prints nothing
    options.set_max_mem(max_memory);
    options.set_never_capture(true);
    return std::make_unique<re2::RE2>(text, options);
}

}  // namespace

pattern::pattern(std::unique_ptr<re2::RE2> machine, std::string_view source)
    : machine_(std::move(machine)), source_(source) {
    const int size = machine_->ProgramSize();
    size_ = size > 0 ? static_cast<std::size_t>(size) : 1;
}

pattern::~pattern() = default;

std::unique_ptr<const pattern> pattern::make(std::string_view ecma, std::string& why) {
    if (ecma.size() > max_pattern) {
        why = "pattern is longer than " + std::to_string(max_pattern) + " bytes";
        return nullptr;
    }
    translated_pattern t = translate_pattern(ecma);
    if (t.what != translated_pattern::outcome::good) {
        why = std::move(t.text);
        return nullptr;
    }
    auto machine = make_machine(t.text);
    if (!machine->ok()) {
        why = "unsupported pattern: " + machine->error();
        return nullptr;
    }
    return std::unique_ptr<const pattern>(new pattern(std::move(machine), ecma));
}

bool pattern::found_in(std::string_view text) const {
    return machine_->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), re2::RE2::UNANCHORED, nullptr,
                           0);
}

bool is_regular_expression(std::string_view text) {
    if (text.size() > max_pattern) return false;
    const translated_pattern t = translate_pattern(text);
    if (t.what != translated_pattern::outcome::good) return t.what == translated_pattern::outcome::unsupported;
    const auto machine = make_machine(t.text);
    return machine->ok() || machine->error_code() == re2::RE2::ErrorPatternTooLarge ||
           machine->error_code() == re2::RE2::ErrorRepeatSize;
}

}  // namespace keel::validation
