#pragma once

// What a program says that is no message of the protocol, while we wait for it to introduce itself.

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace keel::command {

/// Learns it from what the library reports. Any thread.
class nonsense {
public:
    void hear(std::string_view report);
    /// "it wrote 3 lines that are no messages, the first: …". "": it has said nothing of the kind.
    std::string text() const;
    /// What is wrong with the first line that is no message. "": there is none.
    std::string first() const;

private:
    mutable std::mutex mutex_;
    std::size_t lines_ = 0;
    std::string first_;
    bool echoes_ = false;
};

}  // namespace keel::command
