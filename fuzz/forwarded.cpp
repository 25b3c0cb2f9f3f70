// The client behind a proxy, from any X-Forwarded-For and Forwarded headers. The first byte selects the headers; lines are header lines.
// A forged beginning never changes the result once a proxy has appended an address.

#include "http_common/forwarded.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace http = keel::http;

void require(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    // A copy of exactly this size: the address sanitizer detects every read beyond it.
    const std::vector<char> bytes(data + 1, data + size);
    static const http::trusted_proxies trusted(std::vector<std::string>{"10.0.0.0/8", "fd00::/8", "unix"});
    static const http::ip_address proxy = *http::ip_address::parse("10.0.0.1");
    static const http::ip_address stranger = *http::ip_address::parse("192.0.2.1");
    static const http::ip_address client = *http::ip_address::parse("198.51.100.9");

    std::vector<http::header> headers;
    std::string_view left(bytes.data(), bytes.size());
    for (unsigned line = 0; !left.empty(); ++line) {
        const std::size_t end = std::min(left.find('\n'), left.size());
        const bool standard = (data[0] >> (line % 8) & 1) != 0;
        headers.push_back({standard ? "Forwarded" : "X-Forwarded-For", left.substr(0, end)});
        left.remove_prefix(std::min(end + 1, left.size()));
    }
    require(http::client_address(stranger, headers, trusted) == stranger);
    const http::ip_address found = http::client_address(proxy, headers, trusted);
    require(found.present());
    require(http::ip_address::parse(found.text()) == found);

    // What the proxy itself appends is the truth.
    headers.push_back({"X-Forwarded-For", "198.51.100.9, 10.9.9.9"});
    headers.push_back({"Forwarded", "for=198.51.100.9"});
    require(http::client_address(proxy, headers, trusted) == client);
    require(http::client_address({}, headers, trusted) == client);
    return 0;
}
