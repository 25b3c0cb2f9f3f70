#include "http_common/forwarded.hpp"

#include "http_common/tokens.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace keel::inline KEEL_ABI::http {

trusted_proxies::trusted_proxies(std::span<const std::string> entries) {
    for (const std::string& each : entries) {
        if (each == "unix") unix_ = true;
        else networks_.push_back(ip_network::parse(each));
    }
}

bool trusted_proxies::contains(const ip_address& a) const noexcept {
    if (!a.present()) return unix_;
    return std::any_of(networks_.begin(), networks_.end(), [&](const ip_network& n) { return n.contains(a); });
}

namespace {

/// One sender of the request, as the next proxy saw it.
struct hop {
    bool known = false;  // an IP address or a Unix socket
    ip_address address = {};
};

constexpr hop unknown_hop{};

/// A number, or "_" and a name that hides it.
bool is_port(std::string_view text) noexcept {
    if (text.starts_with('_')) return is_token(text);
    return !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == text.npos;
}

/// "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80", "unix:" (nginx).
hop read_node(std::string_view text) noexcept {
    if (same_ignoring_case(text, "unix:") || same_ignoring_case(text, "unix")) return {.known = true};
    std::string_view host = text;
    std::string_view rest;
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        if (close == text.npos) return unknown_hop;
        host = text.substr(1, close - 1);
        rest = text.substr(close + 1);
        if (host.find(':') == host.npos) return unknown_hop;  // only IPv6 addresses have brackets
    } else if (const std::size_t colon = text.find(':'); colon != text.npos && text.rfind(':') == colon) {
        host = text.substr(0, colon);
        rest = text.substr(colon);
    }
    if (!rest.empty() && (rest[0] != ':' || !is_port(rest.substr(1)))) return unknown_hop;
    const auto address = ip_address::parse(host);
    return address ? hop{.known = true, .address = *address} : unknown_hop;
}

/// Takes the hops in the order of the header, the client's own claims first.
class chain {
public:
    explicit chain(const trusted_proxies& trusted) noexcept : trusted_(trusted) {}

    void add(const hop& h) noexcept {
        if (!first_) first_ = h;
        if (!h.known || !trusted_.contains(h.address)) last_untrusted_ = h;
    }
    bool empty() const noexcept { return !first_; }
    /// None if the client is unknown.
    ip_address client() const noexcept {
        if (last_untrusted_) return last_untrusted_->address;
        return first_ ? first_->address : ip_address();
    }

private:
    const trusted_proxies& trusted_;
    std::optional<hop> first_;
    std::optional<hop> last_untrusted_;
};

/// Reads one Forwarded line: elements separated by ',', each with parameters separated by ';'.
class forwarded_reader {
public:
    explicit forwarded_reader(std::string_view line) noexcept : left_(line) {}

    void read(chain& into) noexcept {
        while (!left_.empty()) {
            skip_blanks();
            if (take(',')) continue;  // lists may have empty elements
            if (left_.empty()) return;
            const std::optional<hop> h = element();
            into.add(h.value_or(unknown_hop));
            if (!h) return;  // where the next element begins is unknown
        }
    }

private:
    void skip_blanks() noexcept {
        while (!left_.empty() && is_blank(left_[0])) left_.remove_prefix(1);
    }
    bool take(char c) noexcept {
        if (!left_.starts_with(c)) return false;
        left_.remove_prefix(1);
        return true;
    }

    /// nullopt: malformed.
    std::optional<hop> element() noexcept {
        hop out = unknown_hop;
        bool found = false;
        do {
            skip_blanks();
            if (left_.empty() || left_[0] == ',' || left_[0] == ';') continue;  // an empty parameter
            const std::size_t end = std::min(left_.find_first_not_of(token), left_.size());
            const std::string_view name = left_.substr(0, end);
            left_.remove_prefix(end);
            char unquoted[max_node];
            const std::optional<std::string_view> value = take('=') ? this->value(unquoted) : std::nullopt;
            if (name.empty() || !value) return std::nullopt;
            skip_blanks();
            if (!left_.empty() && left_[0] != ',' && left_[0] != ';') return std::nullopt;
            if (!same_ignoring_case(name, "for")) continue;
            if (std::exchange(found, true)) return std::nullopt;
            out = read_node(*value);
        } while (take(';'));
        return out;
    }

    /// A token or a quoted string; addresses without quotes are tolerated. A longer value than any node is cut off.
    template <std::size_t N>
    std::optional<std::string_view> value(char (&unquoted)[N]) noexcept {
        if (!take('"')) {
            const std::size_t end = std::min(left_.find_first_of(",; \t\""), left_.size());
            const std::string_view out = left_.substr(0, end);
            left_.remove_prefix(end);
            return out.empty() ? std::nullopt : std::optional(out);
        }
        std::size_t size = 0;
        while (!left_.empty()) {
            char c = left_[0];
            left_.remove_prefix(1);
            if (c == '"') return std::string_view(unquoted, size);
            if (c == '\\') {
                if (left_.empty()) break;
                c = left_[0];
                left_.remove_prefix(1);
            }
            if (size < N) unquoted[size++] = c;
        }
        return std::nullopt;  // no closing quote
    }

    static constexpr std::size_t max_node = 128;
    static constexpr const char* token =
        "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string_view left_;
};

}  // namespace

ip_address client_address(const ip_address& peer, std::span<const header> headers,
                          const trusted_proxies& trusted) noexcept {
    if (trusted.empty() || !trusted.contains(peer)) return peer;
    chain standard(trusted);
    chain common(trusted);
    for (const header& h : headers) {
        if (same_ignoring_case(h.name, "forwarded")) forwarded_reader(h.value).read(standard);
        else if (same_ignoring_case(h.name, "x-forwarded-for")) {
            for_each_item(h.value, [&](std::string_view item) { common.add(read_node(item)); });
        }
    }
    if (!standard.empty() && !common.empty() && standard.client() != common.client()) return peer;
    const ip_address found = (standard.empty() ? common : standard).client();
    return found.present() ? found : peer;
}

}  // namespace keel::http
