#include "protocol/url_parts.hpp"

#include "protocol/base64.hpp"
#include "protocol/uri.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace keel::inline KEEL_ABI::protocol {

namespace {

bool is_ipv6(const std::string& text) noexcept {
    in6_addr address;
    return ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

bool is_name_char(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

}  // namespace

std::string to_lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    }
    return out;
}

bool is_request_target(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string basic_authorization(std::string_view user_info) {
    const std::size_t colon = std::min(user_info.find(':'), user_info.size());
    std::string pair = protocol::percent_decode(user_info.substr(0, colon));
    // RFC 7617: the first colon separates user and password.
    if (pair.find(':') != pair.npos) throw std::invalid_argument("a user name cannot contain a colon");
    pair += ':';
    if (colon != user_info.size()) pair += protocol::percent_decode(user_info.substr(colon + 1));
    for (char c : pair) {
        if ((c >= 0 && c < 0x20) || c == 0x7f)
            throw std::invalid_argument("control characters in its user or password");
    }
    std::string out = "Basic ";
    protocol::append_base64(out, pair);
    return out;
}

std::string without_user_info(std::string_view url) {
    const std::size_t scheme = url.find("://");
    const std::size_t begin = scheme == url.npos ? 0 : scheme + 3;
    const std::size_t end = std::min(url.find_first_of("/?#", begin), url.size());
    const std::size_t at = url.substr(0, end).rfind('@');
    if (at == url.npos || at < begin) return std::string(url);
    return std::string(url.substr(0, begin)).append(url.substr(at + 1));
}

std::string without_secrets(std::string_view bad_url) {
    const std::size_t scheme = bad_url.find("://");
    const std::size_t begin = scheme == bad_url.npos ? 0 : scheme + 3;
    const std::size_t at = bad_url.rfind('@');
    if (at == bad_url.npos || at < begin) return std::string(bad_url);
    return std::string(bad_url.substr(0, begin)).append(bad_url.substr(at + 1));
}

url_parts url_parts::parse(std::string_view text) {
    const auto refuse = [&](const std::string& why) {
        return std::invalid_argument("invalid URL \"" + without_secrets(text) + "\": " + why);
    };
    for (char c : text) {
        if (c == ' ') throw refuse("it contains a space");
        if (c >= 0 && (c < 0x20 || c == 0x7f)) throw refuse("it contains a control character");
        if (c < 0 || static_cast<unsigned char>(c) > 0x7f) throw refuse("non-ASCII characters must be percent-encoded");
    }
    url_parts out;
    const std::size_t colon = text.find("://");
    if (colon == text.npos) throw refuse("it must begin with http:// or https://");
    const std::string scheme = to_lower(text.substr(0, colon));
    if (scheme != "http" && scheme != "https") throw refuse("it must begin with http:// or https://");
    out.secure = scheme == "https";
    out.port = out.secure ? 443 : 80;

    std::string_view rest = text.substr(colon + 3);
    rest = rest.substr(0, rest.find('#'));
    const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
    std::string_view authority = rest.substr(0, end);
    rest.remove_prefix(end);
    if (const std::size_t at = authority.rfind('@'); at != authority.npos) {
        try {
            out.authorization = basic_authorization(authority.substr(0, at));
        } catch (const std::invalid_argument& e) {
            throw refuse(e.what());
        }
        authority.remove_prefix(at + 1);
    }

    std::string_view port;
    bool has_port = false;
    if (authority.starts_with('[')) {
        const std::size_t close = authority.find(']');
        if (close == authority.npos) throw refuse("missing closing bracket");
        out.host = to_lower(authority.substr(1, close - 1));
        if (!is_ipv6(out.host)) throw refuse("invalid IPv6 address in the brackets");
        authority.remove_prefix(close + 1);
        if (!authority.empty() && authority.front() != ':') throw refuse("a port must follow the bracket");
        has_port = !authority.empty();
        port = authority.substr(has_port ? 1 : 0);
    } else {
        const std::size_t at = authority.find(':');
        has_port = at != authority.npos;
        out.host = to_lower(authority.substr(0, at));
        if (has_port) port = authority.substr(at + 1);
        if (port.find(':') != port.npos) throw refuse("an IPv6 address needs brackets, as in http://[::1]/");
        if (out.host.empty()) throw refuse("it has no host");
        if (!std::all_of(out.host.begin(), out.host.end(), is_name_char)) throw refuse("invalid host name");
    }
    if (has_port && !port.empty()) {  // "http://example.com:/" is allowed and means the default port
        unsigned number = 0;
        auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), number);
        if (error != std::errc() || stop != port.data() + port.size() || number == 0 || number > 65535) {
            throw refuse("the port must be a number from 1 to 65535");
        }
        out.port = static_cast<std::uint16_t>(number);
    }
    if (!rest.empty()) out.target = rest.front() == '?' ? "/" + std::string(rest) : std::string(rest);
    return out;
}

std::string url_parts::authority() const {
    std::string out = host.find(':') != host.npos ? "[" + host + "]" : host;
    if (port != (secure ? 443 : 80)) out += ":" + std::to_string(port);
    return out;
}

std::string url_parts::authority_with_port() const {
    return (host.find(':') != host.npos ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string url_parts::origin() const { return (secure ? "https://" : "http://") + authority(); }

bool url_parts::is_loopback() const noexcept {
    std::string_view name = host;
    if (name.ends_with('.')) name.remove_suffix(1);
    if (name == "localhost" || name.ends_with(".localhost")) return true;
    in_addr four;
    if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
    in6_addr six;
    if (::inet_pton(AF_INET6, host.c_str(), &six) != 1) return false;
    if (IN6_IS_ADDR_V4MAPPED(&six)) return six.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&six);
}

}  // namespace keel::protocol
