// Our HTTP head parser against Boost.Beast's: a head that both accept means the same to both, and ours refuses more only
// for the reasons listed in may_refuse. Ours never accepts what Beast refuses, except for the reasons in may_accept.

#include "http_common/head_parser.hpp"
#include "http_common/tokens.hpp"

#include <boost/beast/http/basic_parser.hpp>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace beast = boost::beast;
namespace http = keel::http;

void require(bool holds) {
    if (!holds) std::abort();
}

class beast_head final : public beast::http::basic_parser<true> {
public:
    beast_head() {
        header_limit(std::numeric_limits<std::uint32_t>::max());
        body_limit(boost::none);
        skip(true);
    }

    std::string method;
    std::string target;
    unsigned minor = 0;
    std::vector<std::pair<std::string, std::string>> fields;
    beast::error_code error;

private:
    using error_code = beast::error_code;
    using string_view = beast::string_view;

    void on_request_impl(beast::http::verb, string_view m, string_view t, int version, error_code&) override {
        method.assign(m.data(), m.size());
        target.assign(t.data(), t.size());
        minor = static_cast<unsigned>(version - 10);
    }
    void on_field_impl(beast::http::field, string_view name, string_view value, error_code&) override {
        fields.emplace_back(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
    }
    void on_header_impl(error_code&) override {}
    void on_finish_impl(error_code&) override {}
    void on_response_impl(int, string_view, int, error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(string_view body, error_code&) override { return body.size(); }
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override { return body.size(); }
};

/// The head at the start of `bytes`, if its lines satisfy the rules that request_reader checks before parsing.
std::string_view complete_head(std::string_view bytes) {
    http::head_end_finder finder;
    using event = http::head_end_finder::event;
    bool first = true;
    event e = finder.next(bytes);
    for (; e == event::line; e = finder.next(bytes)) {
        const char c = bytes[finder.line_start()];
        if (!first && (c == ' ' || c == '\t')) return {};  // folded
        first = false;
    }
    return e == event::end && !first ? bytes.substr(0, finder.scanned()) : std::string_view();
}

std::size_t count(const beast_head& head, std::string_view name) {
    std::size_t n = 0;
    for (const auto& [each, value] : head.fields) n += http::same_ignoring_case(each, name) ? 1 : 0;
    return n;
}

/// Beast accepts more characters in targets, and Content-Length as a list of equal numbers.
bool may_refuse(http::head_error error, const beast_head& theirs) {
    switch (error) {
        case http::head_error::target:
            for (char c : theirs.target) {
                if (c <= 0x20 || c >= 0x7f || c == '#') return true;
            }
            return false;
        case http::head_error::length:
            for (const auto& [name, value] : theirs.fields) {
                if (http::same_ignoring_case(name, "content-length") && value.find(',') != std::string::npos)
                    return true;
            }
            return false;
        default: return false;
    }
}

/// While parsing, Beast refuses several lengths and codings that request_reader checks here; and it treats
/// Proxy-Connection, which RFC 9112 does not define, like Connection.
bool may_accept(const beast_head& theirs, const http::request& ours, const http::body_headers& body) {
    using beast::http::error;
    const beast::error_code& e = theirs.error;
    if (e == error::bad_value) {
        for (const http::header& each : ours.headers) {
            if (http::same_ignoring_case(each.name, "proxy-connection")) return true;
        }
        return false;
    }
    const bool framing =
        e == error::bad_content_length || e == error::multiple_content_length || e == error::bad_transfer_encoding;
    return framing && body.lengths + body.codings > 1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // A copy of exactly this size: the address sanitizer detects every read beyond it.
    const std::vector<char> bytes(data, data + size);
    const std::string_view text = complete_head({bytes.data(), bytes.size()});
    if (text.empty()) return 0;
    const std::vector<char> exact(text.begin(), text.end());

    beast_head theirs;
    theirs.put({exact.data(), exact.size()}, theirs.error);
    const bool accepted = !theirs.error && theirs.is_header_done();

    http::request ours;
    http::body_headers body;
    std::vector<http::header> headers;
    const http::head_error error = http::parse_request_head({exact.data(), exact.size()}, ours, headers, body);
    ours.headers = headers;

    if (error != http::head_error::none) {
        require(!accepted || may_refuse(error, theirs));
        return 0;
    }
    if (!accepted) {
        require(may_accept(theirs, ours, body));
        return 0;
    }
    require(ours.method == theirs.method && ours.target == theirs.target && ours.minor == theirs.minor);
    require(headers.size() == theirs.fields.size());
    for (std::size_t i = 0; i != headers.size(); ++i)
        require(headers[i].name == theirs.fields[i].first && headers[i].value == theirs.fields[i].second);
    if (count(theirs, "proxy-connection") == 0) require(ours.keep_alive == theirs.keep_alive());
    require(body.hosts == count(theirs, "host") && body.lengths == count(theirs, "content-length"));
    require(body.codings == count(theirs, "transfer-encoding"));
    if (body.lengths == 1) require(body.length == *theirs.content_length());
    require((body.expectation.data() != nullptr) == (count(theirs, "expect") > 0));
    require(ours.count(http::known::mcp_name) == count(theirs, "mcp-name"));
    require(ours.count(http::known::mcp_method) == count(theirs, "mcp-method"));
    require(ours.count(http::known::mcp_session_id) == count(theirs, "mcp-session-id"));
    require(ours.count(http::known::mcp_protocol_version) == count(theirs, "mcp-protocol-version"));
    require(ours.count(http::known::last_event_id) == count(theirs, "last-event-id"));
    require(ours.count(http::known::authorization) == count(theirs, "authorization"));
    require(ours.count(http::known::content_type) == count(theirs, "content-type"));
    require(ours.count(http::known::origin) == count(theirs, "origin"));
    return 0;
}
