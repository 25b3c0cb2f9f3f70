#include "http_client/redirect.hpp"

#include "http_common/tokens.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace keel::inline KEEL_ABI::http_client {

namespace {

/// RFC 3986, 5.2.4: "/a/./b/../c" is "/a/c".
std::string without_dots(std::string_view path) {
    std::vector<std::string_view> kept;
    bool folder = false;  // ends with '/'
    while (!path.empty()) {
        path.remove_prefix(1);  // the '/'
        const std::size_t end = std::min(path.find('/'), path.size());
        const std::string_view part = path.substr(0, end);
        path.remove_prefix(end);
        folder = part == "." || part == "..";
        if (part == ".." && !kept.empty()) kept.pop_back();
        if (!folder) kept.push_back(part);
    }
    std::string out;
    for (std::string_view part : kept) out.append("/").append(part);
    if (folder || out.empty()) out += '/';
    return out;
}

bool has_scheme(std::string_view text) noexcept {
    const std::size_t end = text.find_first_of(":/?#");
    return end != text.npos && text[end] == ':';
}

}  // namespace

bool may_follow(int status, std::string_view method) noexcept {
    if (status == 307 || status == 308) return true;
    return (status == 301 || status == 302 || status == 303) && method == "GET";
}

std::optional<protocol::url_parts> redirect_target(const protocol::url_parts& from, std::string_view location) {
    location = location.substr(0, location.find('#'));
    if (!protocol::is_request_target(location) || location.find('\\') != location.npos) return std::nullopt;
    protocol::url_parts out = from;
    try {
        if (has_scheme(location)) {
            out = protocol::url_parts::parse(location);
        } else if (location.starts_with("//")) {
            out = protocol::url_parts::parse((from.secure ? "https:" : "http:") + std::string(location));
        } else if (location.starts_with('/')) {
            out.target = location;
        } else {
            std::string_view base = from.target;
            base = base.substr(0, base.find('?'));
            if (location.empty()) out.target = from.target;
            else if (location.starts_with('?')) out.target = std::string(base).append(location);
            else out.target = std::string(base.substr(0, base.rfind('/') + 1)).append(location);
        }
    } catch (const std::invalid_argument&) {
        return std::nullopt;
    }
    out.authorization.clear();
    const std::size_t query = std::min(out.target.find('?'), out.target.size());
    out.target = without_dots(std::string_view(out.target).substr(0, query)).append(out.target, query);
    if (out.same_origin(from)) return out;
    if (!from.secure && out.secure && out.host == from.host) return out;
    return std::nullopt;
}

bool drop_credentials(header_list& headers) {
    return std::erase_if(headers, [](const auto& each) {
               return http::same_ignoring_case(each.first, "authorization") ||
                      http::same_ignoring_case(each.first, "cookie") ||
                      http::same_ignoring_case(each.first, "proxy-authorization");
           }) > 0;
}

}  // namespace keel::http_client
