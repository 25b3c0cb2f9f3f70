#pragma once

// The last word of a client to a server that keeps a session for it.

#include "http_client/transfer.hpp"

#include <string_view>

namespace keel::inline KEEL_ABI::http {

class http_link;

/// Tells the server that the session is not needed any more (LHTTP-23). Whatever it says to that is fine: 405 is, too.
class link_farewell final : public transfer_user {
public:
    explicit link_farewell(http_link& home);
    ~link_farewell() = default;

private:
    void on_response(const response_view&) override;
    void on_body(std::string_view) override {}
    void on_end() override {}
    void on_failure(transfer_failure, std::string_view) override;

    http_link& home_;
};

}  // namespace keel::http
