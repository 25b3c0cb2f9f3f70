#pragma once

// Regular expressions of ECMA-262, matched by RE2 in linear time.

#include <keel/version.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace keel::inline KEEL_ABI::validation {

struct translated_pattern {
    enum class outcome { good, invalid, unsupported };
    outcome what = outcome::good;
    std::string text;  // for RE2 when good; otherwise why: "pattern uses a backreference, which is not supported"
};

/// The same expression in RE2's language. `good` still may be refused by RE2.
translated_pattern translate_pattern(std::string_view ecma);

/// A pattern made ready. Matching is for any number of threads at once.
class pattern {
public:
    /// Returns nothing and says why when it cannot be used.
    static std::unique_ptr<const pattern> make(std::string_view ecma, std::string& why);
    ~pattern();

    /// Somewhere in the text; anchors are the expression's own affair.
    bool found_in(std::string_view text) const;
    /// What a search costs per byte if the worst comes to the worst.
    std::size_t size() const noexcept { return size_; }
    const std::string& source() const noexcept { return source_; }

private:
    pattern(std::unique_ptr<re2::RE2> machine, std::string_view source);

    std::unique_ptr<re2::RE2> machine_;
    std::string source_;
    std::size_t size_;
};

/// True unless ECMA-262 itself would refuse it: what RE2 cannot do is valid all the same.
bool is_regular_expression(std::string_view text);

}  // namespace keel::validation
