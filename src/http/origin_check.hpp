#pragma once

// Validation of the Host and Origin headers, against DNS rebinding and for CORS.
//
// A web page can make a browser send requests to 127.0.0.1. If it changes the DNS address of its own name after the page was
// loaded, it can even read the responses. Such requests have the page's name in Host and Origin, so both are checked.

#include "http/request_reader.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::http {

struct origin_rules {
    /// Bound to a loopback address: then Host must be localhost, 127.0.0.1 or [::1] with any port, and Origin absent or
    /// one of these with http or https and any port.
    bool loopback = true;
    /// More allowed hosts: "example.com" (any port), "example.com:8080", "*" (all).
    std::vector<std::string> hosts = {};
    /// More allowed origins: "https://app.example.com", "null", "*" (all).
    std::vector<std::string> origins = {};
    /// Allow pages of `origins` to read the responses (CORS).
    bool cors = false;
};

/// Immutable and thread-safe.
class origin_check {
public:
    enum class verdict : std::uint8_t { fine, bad_origin, bad_host };

    /// Throws std::invalid_argument if an entry is not a valid host or origin.
    explicit origin_check(origin_rules rules = {});

    verdict check(const request&) const;
    /// A view with data() == nullptr means a missing header.
    verdict check(std::string_view host, std::string_view origin) const;
    /// 403 for a bad Origin, 421 for a bad Host, otherwise 0.
    static int status_of(verdict) noexcept;

    /// Appends the headers that allow a page to read the response, if rules.cors is set and `origin` is in `origins`. Call it for
    /// every response, errors included.
    void append_cors(std::string& out, std::string_view origin) const;
    /// Appends the headers for a preflight request (OPTIONS). `wanted` is Access-Control-Request-Headers.
    void append_preflight(std::string& out, std::string_view origin, std::string_view wanted) const;

private:
    struct authority {
        std::string name;  // lower case, without a trailing dot; IPv6 addresses with brackets
        int port = -1;     // -1: missing
    };
    struct page {
        bool secure = false;
        authority at;
    };

    static bool read_authority(std::string_view text, authority& out);
    static bool read_origin(std::string_view text, page& out);
    static int port_of(const page&) noexcept;
    bool listed(std::string_view origin) const;
    bool host_allowed(const authority&) const;

    origin_rules rules_;
    std::vector<authority> hosts_;
    std::vector<page> pages_;
    bool any_host_ = false;
    bool any_origin_ = false;
    bool null_origin_ = false;
};

}  // namespace keel::http
