#pragma once

// Where the messages of a peer go.

#include "rpc/request_id.hpp"

#include <keel/loop.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::rpc {

/// Identity of a request received or sent. The JSON-RPC id is only an index entry that points to it. 0 is none.
using serial = std::uint64_t;

/// One of the streams on which a peer hears us. A byte stream has one only, 0. Over HTTP each request has its own, and 0 is
/// what belongs to no request.
using stream_id = std::uint64_t;

/// What a message is, for those who have to know.
struct frame {
    enum class kind : unsigned char {
        result,
        error,
        said,      // progress or a log message on behalf of a request
        question,  // a request of ours
        news,      // a notification that belongs to no request
    };
    kind what = kind::news;
    serial owner = 0;  // the request it answers or is said for, or the call it is
    stream_id stream = 0;
    const request_id* answers = nullptr;  // of an answer that may be withdrawn; good during the call
    int code = 0;                         // of an error
    // Of a question or news, for a wire that shows it outside of the message (HTTP); good during the call.
    std::string_view method = {};
    std::string_view name = {};  // of what is called, read or got; "" when there is none
    const std::vector<std::pair<std::string, std::string>>* headers = nullptr;
};

/// Takes the messages of one peer_core, each between begin and end, and gives back those that have not begun to leave.
class outlet {
public:
    outlet() = default;
    outlet(const outlet&) = delete;
    outlet& operator=(const outlet&) = delete;

    /// Append the text of the message to the returned buffer, then call end.
    virtual std::string& begin(const frame& about) = 0;
    /// Messages are numbered in their order; the number.
    virtual std::uint64_t end(const frame& about) = 0;
    /// Messages with a smaller number have begun to leave, or are gone.
    virtual std::uint64_t first_to_withdraw() const noexcept = 0;
    /// Takes back every message of `owner` that has not begun to leave. Their number.
    virtual std::size_t withdraw(serial owner) = 0;
    /// The owner of an answer to `id` that has not begun to leave, or 0.
    virtual serial owner_of_answer(const request_id& id) const noexcept = 0;
    /// Bytes that wait for the reader of this stream.
    virtual std::size_t waiting(stream_id on) const noexcept = 0;
    /// A request that came on this stream is over and gets no answer: it was cancelled, or its connection is gone.
    virtual void unanswered(stream_id on, const request_id& id) = 0;
    /// Would a request of ours on this stream reach the peer, and its answer us?
    virtual bool may_ask(stream_id on) const noexcept = 0;
    /// Nobody waits any more for the answer to a question that has begun to leave. True: the peer learns of it in a way of this
    /// wire's own, and no notification is to be sent.
    virtual bool give_up(serial call) {
        (void)call;
        return false;
    }
    /// The turn is over: whatever was taken during it can be written together.
    virtual void flush() = 0;
    /// The handler lets the client go; it will come back for the rest (HTTP, revision 2025-11-25).
    virtual void release(stream_id on, duration retry) = 0;

protected:
    ~outlet() = default;
};

}  // namespace keel::rpc
