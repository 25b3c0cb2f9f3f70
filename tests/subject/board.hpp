#pragma once

// The calls that a test observes and controls, by their keys.

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

/// One call. Created when its key is first used, by the call or by a tool that waits for it.
class record {
public:
    // What has happened to it.
    flag begun;
    flag cancelled;
    flag cleaned_up;  // only after a cancellation
    flag finished;    // the handler has ended in any way

    // What it is allowed to do.
    flag go;
    flag clean_up;

    void set_value(std::string v);
    std::string value() const;
    void set_reason(std::string r);
    std::string reason() const;
    /// "begun" and so on; null if the name is unknown.
    flag* find(const std::string& what);

    /// The call is running while this object exists.
    class presence {
    public:
        presence(record& r, const context& ctx, keel::loop* home);
        presence(const presence&) = delete;
        presence& operator=(const presence&) = delete;
        ~presence();

    private:
        record& record_;
    };

    /// Runs `work` on the loop of the call while the call exists; immediately, on this thread, if it has ended. Returns
    /// false if it has not begun yet.
    bool with_context(std::function<void(context&)> work);
    /// The number of the next message that the call sends.
    std::size_t next_number();
    std::size_t sent() const;
    std::size_t runs() const;

private:
    mutable std::mutex mutex_;  // shared by the call's loop and the threads that control it
    std::optional<context> context_;
    keel::loop* home_ = nullptr;  // set while the call is a running coroutine
    std::string value_;
    std::string reason_;
    std::size_t sent_ = 0;
    std::size_t runs_ = 0;
};

class board {
public:
    std::shared_ptr<record> at(const std::string& key);
    void forget(const std::string& key);
    /// Must be called at the end: the records keep the contexts of their calls, and a context keeps what abandoned
    /// handlers may still need, including this board.
    void forget_all();
    std::size_t size() const;

private:
    mutable std::mutex mutex_;  // shared by all loops and worker threads
    std::map<std::string, std::shared_ptr<record>> records_;
};

}  // namespace keel::subject
