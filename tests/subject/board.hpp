#pragma once

// The calls that a test watches and steers, by the keys it gave them.

#include "flag.hpp"

#include <keel/context.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace keel::subject {

/// One call. Made when its key is first named, by the call or by whoever waits for it.
class record {
public:
    // What has happened.
    flag begun;
    flag cancelled;
    flag cleaned_up;  // after a cancellation, and only then
    flag finished;    // the handler has left, in whatever way

    // What it may do.
    flag go;
    flag clean_up;

    void set_value(std::string v);
    std::string value() const;
    void set_reason(std::string r);
    std::string reason() const;
    /// "begun" and so on; null for another word.
    flag* find(const std::string& what);

    /// While this lives, the call is running.
    class presence {
    public:
        presence(record& r, const context& ctx, keel::loop* home);
        presence(const presence&) = delete;
        presence& operator=(const presence&) = delete;
        ~presence();

    private:
        record& record_;
    };

    /// Runs `work` on the loop of the call while the call is there; at once, on this thread, when it has ended. False when it
    /// has not begun yet.
    bool with_context(std::function<void(context&)> work);
    /// The number of the next message that the call sends.
    std::size_t next_number();
    std::size_t sent() const;
    std::size_t runs() const;

private:
    mutable std::mutex mutex_;  // the call's loop meets the loops and threads of those who steer it
    std::optional<context> context_;
    keel::loop* home_ = nullptr;  // while the call is there and is a coroutine
    std::string value_;
    std::string reason_;
    std::size_t sent_ = 0;
    std::size_t runs_ = 0;
};

class board {
public:
    std::shared_ptr<record> at(const std::string& key);
    void forget(const std::string& key);
    /// At the end. The records keep the contexts of their calls, and a context keeps what handlers that were abandoned may
    /// still need, which is this board.
    void forget_all();
    std::size_t size() const;

private:
    mutable std::mutex mutex_;  // requests of all loops and workers
    std::map<std::string, std::shared_ptr<record>> records_;
};

}  // namespace keel::subject
