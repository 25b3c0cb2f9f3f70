#include "http_error_text.hpp"

#include "printable.hpp"

#include <algorithm>
#include <string_view>

namespace keel::command {

namespace {
constexpr std::size_t longest_body = 100;  // columns
}

bool is_http_error(const error& e) noexcept {
    bool refused = e.kind() == error_kind::rejected || e.kind() == error_kind::unauthorized;
    return refused && e.http_status() != 0 && e.code() == 0;
}

std::string http_error_text(const error& e) {
    std::string_view all = e.what();
    auto colon = all.find(": ");  // after the status and its reason phrase
    std::string text(all.substr(0, colon));
    if (colon == std::string_view::npos) return text;
    std::string_view body = all.substr(colon + 2);
    // The library has escaped the text: line ends are \x0a and \x0d.
    body = body.substr(0, std::min({body.find("\\x0a"), body.find("\\x0d"), body.find('\n')}));
    std::string line = printable_line(body);
    if (line.empty() || line.starts_with('<')) return text;  // an HTML page
    return text + ": " + cut_to(line, longest_body);
}

}  // namespace keel::command
