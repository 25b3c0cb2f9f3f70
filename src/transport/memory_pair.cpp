#include <keel/transport.hpp>

#include <algorithm>
#include <mutex>
#include <stdexcept>

namespace keel::inline KEEL_ABI {

namespace {

class memory_end;

// The bytes in transit in one direction.
struct stream {
    std::string bytes;
    memory_end* writer = nullptr;  // null after that end has closed: no more bytes will arrive
    memory_end* reader = nullptr;  // null after that end has closed: bytes are discarded
    bool writer_blocked = false;   // a write was partial; notify the writer when there is room
    bool end_told = false;
};

// Shared by both ends, each on the thread of its own loop; the mutex is the only synchronization. The lock is held
// while posting to the other end's loop, so that the other end and its loop cannot be destroyed meanwhile. It is never
// held while a listener is called.
struct shared {
    std::mutex mutex;
    std::size_t capacity = 0;
    stream streams[2];  // streams[i] is written by end i
};

class memory_end final : public connection {
public:
    memory_end(std::shared_ptr<shared> s, int index, loop& l) : shared_(std::move(s)), index_(index), loop_(l) {
        incoming().reader = this;
        outgoing().writer = this;
    }
    ~memory_end() override { close(); }

    void start(listener& l) override {
        listener_ = &l;
        std::lock_guard lock(shared_->mutex);
        wake();
    }

    written write(std::string_view bytes) override {
        std::lock_guard lock(shared_->mutex);
        if (!outgoing().reader || closed_) return {0, "the connection is closed"};
        std::size_t taken = std::min(bytes.size(), shared_->capacity - outgoing().bytes.size());
        outgoing().bytes.append(bytes.substr(0, taken));
        if (taken < bytes.size()) outgoing().writer_blocked = true;
        if (taken > 0) outgoing().reader->wake();
        return {taken, {}};
    }

    void pause() noexcept override { paused_ = true; }
    void resume() override {
        if (!std::exchange(paused_, false)) return;
        std::lock_guard lock(shared_->mutex);
        wake();
    }

    void close() noexcept override {
        if (std::exchange(closed_, true)) return;
        listener_ = nullptr;
        std::lock_guard lock(shared_->mutex);
        *alive_ = false;
        incoming().reader = nullptr;
        incoming().bytes.clear();
        outgoing().writer = nullptr;
        if (outgoing().reader) outgoing().reader->wake();
    }
    std::string describe() const override { return "memory"; }

private:
    stream& outgoing() const noexcept { return shared_->streams[index_]; }
    stream& incoming() const noexcept { return shared_->streams[1 - index_]; }

    /// This end may have something to do. Called with the lock held, from either thread.
    void wake() {
        if (posted_) return;
        posted_ = loop_.post([this, alive = alive_, s = shared_] {
            // `alive` changes only on this thread.
            if (*alive) turn(alive);
        });
    }

    void turn(std::shared_ptr<bool> alive) {
        std::string input;
        bool ended = false;
        bool writable = false;
        bool refused = false;
        {
            std::lock_guard lock(shared_->mutex);
            posted_ = false;
            if (!listener_) return;
            stream& in = incoming();
            if (!paused_) {
                input.swap(in.bytes);
                // There is room again: wake the writer that waits for it.
                if (!input.empty() && in.writer_blocked && in.writer) in.writer->wake();
                ended = !in.writer && !std::exchange(in.end_told, in.end_told || !in.writer);
            }
            stream& out = outgoing();
            if (out.writer_blocked && !out.reader) {
                out.writer_blocked = false;
                refused = true;
            } else if (out.writer_blocked && out.bytes.size() < shared_->capacity) {
                out.writer_blocked = false;
                writable = true;
            }
        }
        if (!input.empty()) listener_->on_input(input);
        if (*alive && ended) listener_->on_input_end();
        if (*alive && writable) listener_->on_writable();
        if (*alive && refused) listener_->on_failure("the peer closed the connection");
    }

    std::shared_ptr<shared> shared_;
    int index_;
    loop& loop_;  // must outlive this end
    listener* listener_ = nullptr;
    bool paused_ = false;
    bool closed_ = false;
    bool posted_ = false;                                         // guarded by the mutex
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // a posted turn may outlive this object
};

}  // namespace

std::pair<std::unique_ptr<connection>, std::unique_ptr<connection>> memory_pair(loop& a, loop& b,
                                                                                std::size_t capacity) {
    if (capacity == 0) throw std::invalid_argument("keel: invalid memory pair capacity 0: expected at least 1 byte");
    auto both = std::make_shared<shared>();
    both->capacity = capacity;
    auto first = std::make_unique<memory_end>(both, 0, a);
    auto second = std::make_unique<memory_end>(both, 1, b);
    return {std::move(first), std::move(second)};
}

}  // namespace keel
