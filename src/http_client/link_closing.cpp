#include "http_client/link_closing.hpp"

#include "http_client/exchange_table.hpp"
#include "http_client/http_session.hpp"
#include "http_client/link_context.hpp"

#include <utility>

namespace keel::inline KEEL_ABI::http_client {

link_closing::link_closing(link_context& context, const http_session& session, const exchange_table& table,
                           std::function<void()> release) noexcept
    : context_(context), session_(session), table_(table), release_(std::move(release)) {}

void link_closing::begin() {
    final_ = context_.start_timer(context_.bounds().final_write, [this] {
        final_ = 0;
        finish();
    });
    // Error responses for pending requests of the server are queued now and sent at the end of this turn.
    context_.later([this] {
        leaving_ = true;
        exchange_ended();
    });
}

void link_closing::exchange_ended() {
    if (leaving_ && table_.empty()) delete_session();
}

void link_closing::delete_session() {
    if (deleting_ || !context_.connected()) return;
    if (!session_.in_session()) return finish();
    deleting_ = true;
    transfer_request out;
    out.method = "DELETE";
    out.headers = headers_of_delete(session_.terms());
    context_.start(std::move(out), *this);
}

void link_closing::finish() {
    context_.later([this] {
        if (!context_.connected()) return;
        stop();
        release_();
        gone_.set();  // may destroy this object
    });
}

void link_closing::stop() noexcept {
    context_.stop_timer(final_);
    leaving_ = false;
}

}  // namespace keel::http_client
