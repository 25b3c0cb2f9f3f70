#include "http_client/message_inbox.hpp"

#include "http_client/exchange_table.hpp"
#include "http_client/http_session.hpp"
#include "http_client/link_context.hpp"

#include <string>

namespace keel::inline KEEL_ABI::http_client {

namespace {

constexpr std::size_t large_event = 64 * 1024;

}  // namespace

void message_inbox::take_event(link_exchange* from, const http::sse_event& e) {
    // An event without data only carries an event id; events of other types are ignored.
    if (e.data.empty() || e.event != "message" || session_.closed()) return;
    const json::value* v = document_.read(e.data, {.max_depth = context_.bounds().max_depth});
    if (!v) return context_.note(std::string("invalid message in an event stream: ") + document_.error().what);
    if (v->is_array() && !session_.modern()) {
        if (!takes_batch(*v)) return;
        for (const json::value& each : v->items()) take_message(from, rpc::classify(each));
    } else {
        take_message(from, rpc::classify(*v));
    }
    if (e.data.size() > large_event) document_.clear();
}

void message_inbox::take_message(link_exchange* from, const rpc::message& m) {
    const bool answer = m.kind == rpc::message_kind::response || !m.names_method;
    if (answer && m.id.present()) {
        const rpc::serial call = call_of(m.id);
        link_exchange* its = call == 0 ? nullptr : table_.find(call);
        if (from && from != its) {
            from->heard_other();
            if (its && from->sent_in.modern)
                return context_.note("a request's stream contained the response to another request");
        }
        // The peer accepts an invalid response for a call only if its id is the number itself.
        if (its && (m.kind == rpc::message_kind::response || m.id.is_integer())) owner_.settled(*its);
    }
    context_.peer().receive(m, 0);
}

void message_inbox::take_large_message(std::string_view beginning) {
    const rpc::truncated_message seen = rpc::read_truncated(beginning);
    if (!seen.method) {
        // The peer fails the call.
        if (link_exchange* its = table_.find(call_of(seen.id))) owner_.settled(*its);
    }
    context_.peer().receive_too_large(beginning);
}

// E5: only one revision supports batches.
bool message_inbox::takes_batch(const json::value& v) {
    if (context_.peer().core().takes_batch_of(v.size())) return true;
    context_.note("unexpected batch from the server: rejected");
    return false;
}

}  // namespace keel::http_client
