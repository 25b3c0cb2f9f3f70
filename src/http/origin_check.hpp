#pragma once

// Who may talk to the server from a browser, and under which names it may be called (DNS rebinding).
//
// A web page can make a browser send requests to 127.0.0.1, and by changing the address of its own name after the page was
// loaded it can even read the answers. Such requests carry the page's name as Host and Origin: both are checked against
// what is expected here.

#include "http/request_reader.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::http {

struct origin_rules {
    /// Bound to a loopback address: then Host must be localhost, 127.0.0.1 or [::1] with any port, and Origin absent or
    /// one of these with http or https and any port.
    ///
    /// Bound to anything else, and with no `hosts` below, Host is not checked at all: we do not know the names under
    /// which the world reaches us. A page of ours is then known by its Origin being the very Host it talks to, which
    /// rebinding can fake: whoever listens to the world without authorization should name the hosts.
    bool loopback = true;
    /// More names to be called by: "example.com" (any port), "example.com:8080", "*" (all of them).
    std::vector<std::string> hosts = {};
    /// More pages that may talk to us: "https://app.example.com", "null", "*" (all of them).
    std::vector<std::string> origins = {};
    /// Let the pages in `origins` read the answers (CORS).
    bool cors = false;
};

/// Immutable once made: any thread may ask.
class origin_check {
public:
    enum class verdict : std::uint8_t { fine, bad_origin, bad_host };

    /// Throws std::invalid_argument naming the entry that is no host or origin.
    explicit origin_check(origin_rules rules = {});

    verdict check(const request&) const;
    /// Views whose data() is nullptr are absent headers.
    verdict check(std::string_view host, std::string_view origin) const;
    /// 403 for a bad Origin, 421 for a bad Host, 0 when it is fine.
    static int status_of(verdict) noexcept;

    /// The headers that let a page read this answer: none unless rules.cors is set and `origin` was allowed by name or by
    /// "*". To be appended to the head of every answer to it, refusals included.
    void append_cors(std::string& out, std::string_view origin) const;
    /// The same for the answer to OPTIONS, by which a browser asks first. `wanted` is Access-Control-Request-Headers.
    void append_preflight(std::string& out, std::string_view origin, std::string_view wanted) const;

private:
    struct authority {
        std::string name;  // lower case, without a dot at the end; an IPv6 address with its brackets
        int port = -1;     // -1: none was said
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
