#include "auth/challenge.hpp"

#include "http_common/tokens.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::auth {

namespace {

using http::is_blank;
using http::is_token_char;

bool is_token68_char(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~' || c == '+' || c == '/';
}

/// Reads a header value from left to right.
class reader {
public:
    explicit reader(std::string_view text) : rest_(text) {}

    bool at_end() const noexcept { return rest_.empty(); }
    void skip_blanks() noexcept {
        while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    }
    void skip_blanks_and_commas() noexcept {
        while (!rest_.empty() && (is_blank(rest_.front()) || rest_.front() == ',')) rest_.remove_prefix(1);
    }
    bool take(char c) noexcept {
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::string_view token() noexcept { return run(is_token_char); }

    /// A token68 that fills the place up to the next comma or the end; "" if there is none.
    std::string_view token68() noexcept {
        std::size_t n = 0;
        while (n < rest_.size() && is_token68_char(rest_[n])) ++n;
        if (n == 0) return {};
        while (n < rest_.size() && rest_[n] == '=') ++n;
        std::size_t after = n;
        while (after < rest_.size() && is_blank(rest_[after])) ++after;
        if (after < rest_.size() && rest_[after] != ',') return {};
        const std::string_view found = rest_.substr(0, n);
        rest_.remove_prefix(after);
        return found;
    }

    /// A quoted string or a token after '='. nullopt: the value is malformed.
    std::optional<std::string> value() {
        if (!take('"')) {
            const std::string_view found = token();
            if (found.empty()) return std::nullopt;
            return std::string(found);
        }
        std::string out;
        while (!rest_.empty()) {
            const char c = rest_.front();
            rest_.remove_prefix(1);
            if (c == '"') return out;
            if (c != '\\') {
                out += c;
            } else if (!rest_.empty()) {
                out += rest_.front();
                rest_.remove_prefix(1);
            }
        }
        return std::nullopt;  // the closing quote is missing
    }

    /// After an error: skips to the next comma that is not inside a quoted string.
    void skip_to_comma() {
        bool quoted = false;
        while (!rest_.empty() && (quoted || rest_.front() != ',')) {
            if (rest_.front() == '"') quoted = !quoted;
            else if (quoted && rest_.front() == '\\' && rest_.size() > 1) rest_.remove_prefix(1);
            rest_.remove_prefix(1);
        }
    }

    /// A scheme is a token that is followed by a blank, a comma or the end; a parameter is followed by '='.
    bool parameter_follows() const noexcept {
        std::size_t n = 0;
        while (n < rest_.size() && is_token_char(rest_[n])) ++n;
        if (n == 0) return false;
        while (n < rest_.size() && is_blank(rest_[n])) ++n;
        if (n == rest_.size() || rest_[n] != '=') return false;
        // "Scheme abc==" is a token68; a parameter has a value after its '='.
        for (++n; n < rest_.size() && is_blank(rest_[n]); ++n) {
        }
        return n < rest_.size() && rest_[n] != '=' && rest_[n] != ',';
    }

private:
    std::string_view run(bool (*accepts)(char) noexcept) noexcept {
        std::size_t n = 0;
        while (n < rest_.size() && accepts(rest_[n])) ++n;
        const std::string_view found = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return found;
    }

    std::string_view rest_;
};

std::string lower_case(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), http::lower);
    return out;
}

void read_parameters(reader& in, challenge& into) {
    for (;;) {
        in.skip_blanks_and_commas();
        if (!in.parameter_follows()) return;
        std::string name = lower_case(in.token());
        in.skip_blanks();
        in.take('=');
        in.skip_blanks();
        auto value = in.value();
        if (!value) {
            in.skip_to_comma();
            continue;
        }
        if (into.parameters.size() < max_parameters) into.parameters.emplace_back(std::move(name), std::move(*value));
    }
}

void read_line(std::string_view line, std::vector<challenge>& out) {
    reader in(line);
    for (;;) {
        in.skip_blanks_and_commas();
        if (in.at_end() || out.size() == max_challenges) return;
        if (in.parameter_follows()) {  // a parameter that belongs to no challenge
            in.skip_to_comma();
            continue;
        }
        challenge found;
        found.scheme = std::string(in.token());
        if (found.scheme.empty()) {
            in.skip_to_comma();
            continue;
        }
        in.skip_blanks();
        if (!in.parameter_follows()) found.token68 = std::string(in.token68());
        if (found.token68.empty()) read_parameters(in, found);
        out.push_back(std::move(found));
    }
}

}  // namespace

bool challenge::has_scheme(std::string_view lower) const noexcept { return http::same_ignoring_case(scheme, lower); }

std::optional<std::string_view> challenge::parameter(std::string_view name) const noexcept {
    std::optional<std::string_view> found;
    for (const auto& [each, value] : parameters) {
        if (each != name) continue;
        if (found) return std::nullopt;
        found = value;
    }
    return found;
}

std::vector<challenge> parse_challenges(const std::vector<std::string_view>& lines) {
    std::vector<challenge> out;
    for (std::string_view line : lines) read_line(line, out);
    return out;
}

std::string write_challenge(const challenge& c) {
    std::string out = c.scheme;
    if (!c.token68.empty()) out.append(" ").append(c.token68);
    std::string_view before = " ";
    for (const auto& [name, value] : c.parameters) {
        out.append(before).append(name).append("=\"");
        for (char each : value) {
            if (!http::is_field_char(each)) continue;
            if (each == '"' || each == '\\') out += '\\';
            out += each;
        }
        out += '"';
        before = ", ";
    }
    return out;
}

}  // namespace keel::auth
