#pragma once

// The DELETE request that ends an HTTP session.

#include "http_client/transfer.hpp"

#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

class http_link;

/// Ends the session on the server (LHTTP-23). Any response is accepted, also 405.
class session_delete final : public transfer_user {
public:
    explicit session_delete(http_link& home);
    ~session_delete() = default;

private:
    void on_response(const response_view&) override;
    void on_body(std::string_view) override {}
    void on_end() override {}
    void on_failure(transfer_failure, std::string_view) override;

    http_link& home_;
};

}  // namespace keel::http_client
