#include <keel/task.hpp>

#include <array>

namespace keel::inline KEEL_ABI {

const char* cancelled::what() const noexcept { return "cancelled"; }

}  // namespace keel

namespace keel::inline KEEL_ABI::detail {

namespace {

// Each request allocates and frees coroutine frames, in few sizes. Each thread keeps some free frames of each size for reuse.
constexpr std::size_t step = 64;
constexpr std::size_t sizes = 32;  // up to 2 KiB
constexpr std::size_t kept_per_size = 64;

struct frame_pool {
    struct node {
        node* next;
    };
    struct shelf {
        node* first = nullptr;
        std::size_t count = 0;
    };
    std::array<shelf, sizes> shelves;

    ~frame_pool() {
        for (shelf& s : shelves) {
            while (s.first) {
                node* n = std::exchange(s.first, s.first->next);
                ::operator delete(n);
            }
        }
    }
};

thread_local frame_pool pool;

}  // namespace

void* allocate_frame(std::size_t bytes) {
    std::size_t index = (bytes + step - 1) / step;
    if (index >= sizes) return ::operator new(bytes);
    auto& shelf = pool.shelves[index];
    if (!shelf.first) return ::operator new(index * step);
    --shelf.count;
    return std::exchange(shelf.first, shelf.first->next);
}

void free_frame(void* frame, std::size_t bytes) noexcept {
    std::size_t index = (bytes + step - 1) / step;
    if (index >= sizes) return ::operator delete(frame);
    auto& shelf = pool.shelves[index];
    if (shelf.count >= kept_per_size) return ::operator delete(frame);
    ++shelf.count;
    shelf.first = new (frame) frame_pool::node{shelf.first};
}

void wait::rethrow() const { throw cancelled(); }

void wait::leave() noexcept { activity_->waiting_ = nullptr; }

void wait::resume() {
    if (activity_->waiting_ == this) activity_->waiting_ = nullptr;
    if (activity_->monitor_) activity_->monitor_->on_resume();
    waiting_.resume();
}

activity::activity(keel::loop& loop, activity* parent) noexcept : loop_(&loop), parent_(parent) {
    if (!parent_) return;
    next_ = parent_->first_child_;
    if (next_) next_->previous_ = this;
    parent_->first_child_ = this;
    watcher_ = parent_->watcher_;
    monitor_ = parent_->monitor_;
    executor_ = parent_->executor_;
    if (parent_->stopped_) {
        stopped_ = true;
        interruption_due_ = true;
    }
}

activity::~activity() {
    if (previous_) {
        previous_->next_ = next_;
    } else if (parent_) {
        parent_->first_child_ = next_;
    }
    if (next_) next_->previous_ = previous_;
    // Children that outlive their parent (those of an abandoned handler) become roots.
    for (activity* child = first_child_; child;) {
        activity* following = child->next_;
        child->parent_ = child->next_ = child->previous_ = nullptr;
        child->watcher_ = nullptr;
        child->monitor_ = nullptr;
        child->executor_ = nullptr;
        child = following;
    }
}

void activity::watch(activity_watcher* w) noexcept {
    watcher_ = w;
    for (activity* child = first_child_; child; child = child->next_) child->watch(w);
}

bool activity::only_awaits_watcher() const noexcept {
    if (finished_) return true;
    if (nudges_expected_ > 0 || !waiting_ || waiting_->what_ == waits_for::something) return false;
    bool some_child_waits = false;
    for (const activity* child = first_child_; child; child = child->next_) {
        if (!child->only_awaits_watcher()) return false;
        some_child_waits = some_child_waits || !child->finished_;
    }
    // A wait for children that have all ended is about to end.
    return waiting_->what_ == waits_for::watcher || some_child_waits;
}

void activity::nudge() noexcept {
    if (!waiting_) {
        interruption_due_ = true;
        return;
    }
    wait* w = std::exchange(waiting_, nullptr);
    w->interrupted_ = true;
    w->interrupt();
}

void activity::stop() noexcept {
    if (stopped_) return;
    stopped_ = true;
    // Children first: the interruption below may run this activity to its end. A child that ends while it is stopped leaves the
    // list, so start over after each child; stopped children are skipped.
    for (activity* child = first_child_; child;) {
        if (child->stopped_) {
            child = child->next_;
        } else {
            child->stop();
            child = first_child_;
        }
    }
    nudge();
}

}  // namespace keel::detail
