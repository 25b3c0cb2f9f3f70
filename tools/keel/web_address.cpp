#include "web_address.hpp"

#include <algorithm>

namespace keel::command {

namespace {

bool starts_without_case(std::string_view text, std::string_view with) {
    return text.size() >= with.size() && std::equal(with.begin(), with.end(), text.begin(), [](char a, char b) {
               return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + ('a' - 'A')) : b);
           });
}

bool has_punycode(std::string_view host) {
    while (true) {
        if (starts_without_case(host, "xn--")) return true;
        auto dot = host.find('.');
        if (dot == std::string_view::npos) return false;
        host.remove_prefix(dot + 1);
    }
}

bool is_loopback(std::string_view host) { return host == "localhost" || host == "127.0.0.1" || host == "[::1]"; }

}  // namespace

web_address read_web_address(std::string_view url) {
    web_address a;
    a.before = url;
    bool secure = starts_without_case(url, "https://");
    if (!secure && !starts_without_case(url, "http://")) {
        a.problem = "it is not an http or https URL";
        return a;
    }
    // Browsers repair such URLs in their own ways, so the page that opens may differ from the URL that is shown.
    auto odd = [](char c) {
        auto byte = static_cast<unsigned char>(c);
        return byte <= 0x20 || byte >= 0x7f || std::string_view("\\\"<>`{}|^").find(c) != std::string_view::npos;
    };
    if (std::any_of(url.begin(), url.end(), odd)) {
        a.problem = "it contains characters that are invalid in a URL";
        return a;
    }
    std::size_t begin = secure ? 8 : 7;
    std::size_t end = std::min(url.find_first_of("/?#", begin), url.size());
    if (auto at = url.substr(begin, end - begin).rfind('@'); at != std::string_view::npos) {
        begin += at + 1;
        a.warnings.emplace_back("The text before the @ is not the host, even if it looks like one.");
    }
    std::string_view rest = url.substr(begin, end - begin);
    std::size_t host_size = rest.starts_with('[') ? std::min(rest.find(']'), rest.size() - 1) + 1 : rest.find(':');
    a.before = url.substr(0, begin);
    a.host = rest.substr(0, host_size);
    a.after = url.substr(begin + a.host.size());
    if (a.host.empty()) a.problem = "it has no host";
    if (has_punycode(a.host)) {
        a.warnings.emplace_back("The host is in Punycode (xn--): in a browser it may look like another host.");
    }
    if (!secure && !is_loopback(a.host)) a.warnings.emplace_back("The connection is not encrypted (http).");
    return a;
}

}  // namespace keel::command
