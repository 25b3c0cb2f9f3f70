#pragma once

// A request as the application's hooks (http_options::identify, http_options::route) see it.

#include "http_common/head_parser.hpp"
#include "http_common/ip_address.hpp"
#include "http_common/tokens.hpp"

#include <keel/http_server.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

class request_view final : public http_request {
public:
    request_view(const request& r, std::string_view body, const ip_address& client) noexcept
        : r_(r), body_(body), client_(client) {}
    ~request_view() = default;
    std::string_view method() const noexcept override { return r_.method; }
    std::string_view path() const noexcept override { return r_.path; }
    std::string_view query() const noexcept override { return r_.query; }
    std::string_view body() const noexcept override { return body_; }
    std::optional<std::string_view> header(std::string_view name) const override {
        std::string lower_case(name);
        for (char& ch : lower_case) ch = lower(ch);
        std::string_view value = r_.find(lower_case);
        return value.data() ? std::optional(value) : std::nullopt;
    }
    std::string_view remote_address() const noexcept override { return client_.text_in(client_text_); }

private:
    const request& r_;
    const std::string_view body_;
    const ip_address client_;
    mutable ip_address::text_buffer client_text_;
};

}  // namespace keel::http
