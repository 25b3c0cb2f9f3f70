#include "protocol/uri_template.hpp"

#include <keel/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

// The first line is a template, the second a URI. The values of a match are UTF-8; without operators that allow
// reserved characters, expanding them gives a URI that matches in the same way.

namespace {

using namespace keel::protocol;

void require(bool holds) {
    if (!holds) std::abort();
}

/// Without {+x} and {#x}, which lose escapes, and without exploded variables, whose items are joined.
bool is_reversible(std::string_view text) { return text.find_first_of("+#*") == std::string_view::npos; }

/// The number of variable uses.
std::size_t uses_in(std::string_view text) {
    std::size_t uses = 0;
    bool inside = false;
    for (char c : text) {
        if (c == '{' || c == '}') inside = c == '{';
        if (inside && (c == '{' || c == ',')) ++uses;
    }
    return uses;
}

void check(const uri_template& t, std::string_view uri) {
    const auto values = t.match(uri);
    if (!values) return;
    for (const auto& [name, value] : *values) {
        require(keel::json::is_utf8(value) && value.find('\0') == std::string::npos);
        if (value == ".." || value == "." || value.starts_with('/')) require(is_path_traversal(value));
    }
    if (!is_reversible(t.text())) return;
    // The values may differ: "{x}A{y}" finds others in "bAA1" than in "b%41A1", where only one A is the literal.
    const std::string again = t.expand(template_values(values->begin(), values->end()));
    if (again.size() > uri_template::max_uri_size) return;
    const auto same = t.match(again);
    require(same || uses_in(t.text()) != t.variables().size());  // repeated variables may exceed the step limit
    if (same) require(t.expand(template_values(same->begin(), same->end())) == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::string_view first = text.substr(0, text.find('\n'));
    const std::string_view uri = text.substr(std::min(first.size() + 1, text.size()));

    if (is_valid_uri(uri)) {
        require(uri.find(':') != std::string_view::npos);
        for (char c : uri) require(is_unreserved(c) || is_reserved(c) || c == '%');
    }

    static const uri_template fixed[] = {
        uri_template("file:///{+path}{?q,r}{#frag}"),
        uri_template("a://{x}/{y}{.ext}{/seg*}{;p,q*}{&r}"),
        uri_template("{a}{b:3}{a}"),
    };
    for (const uri_template& t : fixed) check(t, uri);
    try {
        const uri_template t{std::string(first)};
        check(t, uri);
        template_values values;
        for (const std::string& name : t.variables()) values[name] = std::string(uri.substr(0, 20));
        check(t, t.expand(values));
    } catch (const std::invalid_argument& e) {
        require(keel::json::is_utf8(e.what()));
    }
    return 0;
}
