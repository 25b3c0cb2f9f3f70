#include "http/sse_writer.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace keel::inline KEEL_ABI::http {

namespace {

std::size_t find_line_end(std::string_view text) noexcept {
    if (text.empty()) return std::string_view::npos;
    const void* lf = std::memchr(text.data(), '\n', text.size());
    if (lf != nullptr) text = text.substr(0, static_cast<std::size_t>(static_cast<const char*>(lf) - text.data()));
    const std::size_t cr = text.find('\r');
    if (cr != std::string_view::npos) return cr;
    return lf == nullptr ? std::string_view::npos : text.size();
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
    out.append(name);
    for (char c : value) {
        if (c != '\r' && c != '\n' && c != '\0') out.push_back(c);
    }
    out.push_back('\n');
}

}  // namespace

void append_event(std::string& out, std::string_view id, std::string_view event, std::string_view data) {
    if (!id.empty()) append_field(out, "id: ", id);
    if (!event.empty()) append_field(out, "event: ", event);
    for (;;) {
        const std::size_t end = find_line_end(data);
        out.append("data: ").append(data.substr(0, end)).push_back('\n');
        if (end == std::string_view::npos) break;
        data.remove_prefix(end + (data.substr(end).starts_with("\r\n") ? 2 : 1));
    }
    out.push_back('\n');
}

void append_priming_event(std::string& out, std::string_view id) { append_event(out, id, {}, {}); }

void append_comment(std::string& out, std::string_view text) {
    out.append(": ");
    const std::size_t start = out.size();
    out.append(text);
    std::replace_if(
        out.begin() + static_cast<std::ptrdiff_t>(start), out.end(), [](char c) { return c == '\r' || c == '\n'; },
        ' ');
    out.append("\n\n");
}

void append_retry(std::string& out, std::chrono::milliseconds wait) {
    char digits[24];
    const auto count = std::max(wait.count(), decltype(wait.count()){0});
    const auto end = std::to_chars(digits, digits + sizeof digits, count).ptr;
    out.append("retry: ").append(digits, end).append("\n\n");
}

}  // namespace keel::http
