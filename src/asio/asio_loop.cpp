#include "asio/asio_loop.hpp"

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace asio = boost::asio;

namespace keel::inline KEEL_ABI {

namespace async {

namespace {

using wait_kind = asio::posix::descriptor_base::wait_type;

// Ends the loops of an io_context before it is destroyed.
class loops_of_context final : public asio::execution_context::service {
public:
    using key_type = loops_of_context;
    inline static asio::execution_context::id id;

    explicit loops_of_context(asio::execution_context& context) : service(context) {}

    void add(const std::shared_ptr<asio_loop>& l) {
        std::lock_guard lock(mutex_);
        std::erase_if(loops_, [](const std::weak_ptr<asio_loop>& w) { return w.expired(); });
        loops_.push_back(l);
    }
    std::shared_ptr<asio_loop> common(asio::io_context& context) {
        std::lock_guard lock(common_mutex_);
        if (!common_) common_ = asio_loop::create(context);
        return common_;
    }

private:
    void shutdown() override {
        for (const std::weak_ptr<asio_loop>& w : loops_) {
            if (auto l = w.lock()) l->end();
        }
        common_ = nullptr;
    }

    // Loops may be created on any thread.
    std::mutex mutex_;
    std::vector<std::weak_ptr<asio_loop>> loops_;
    std::mutex common_mutex_;
    std::shared_ptr<asio_loop> common_;
};

// epoll refuses regular files and some devices. Asio would report that only at the first wait.
bool can_be_waited_for(int fd) {
    int set = ::epoll_create1(EPOLL_CLOEXEC);
    if (set < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
    epoll_event event{};
    int error = ::epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
    ::close(set);
    if (error != 0 && error != EPERM) throw std::system_error(error, std::generic_category(), "epoll_ctl");
    return error == 0;
}

}  // namespace

// Exists until its last pending wait has ended; makes no calls after its watch was destroyed.
class asio_loop::descriptor : public std::enable_shared_from_this<descriptor> {
public:
    descriptor(asio_loop& owner, int fd, watcher& who)
        : owner_(&owner), who_(&who), fd_(std::in_place, owner.executor_, fd) {}

    void want(unsigned events) {
        wanted_ = events;
        if (!owner_) return;
        if ((events & readable) && !reading_) begin(asio::posix::descriptor_base::wait_read, reading_);
        if ((events & writable) && !writing_) begin(asio::posix::descriptor_base::wait_write, writing_);
        if (!watching_) {
            // Started only once: a lasting error would otherwise be reported again and again.
            watching_ = true;
            begin(asio::posix::descriptor_base::wait_error, watching_);
        }
    }
    /// Stops all calls to the watcher; the descriptor itself stays open.
    void silence() noexcept {
        who_ = nullptr;
        if (!std::exchange(owner_, nullptr)) return;
        fd_->release();  // cancels the waits
        fd_.reset();     // the handler of a completed wait may be destroyed after the io_context
    }

private:
    void begin(wait_kind kind, bool& pending) {
        pending = true;
        fd_->async_wait(kind, [self = this->shared_from_this(), kind, &pending](boost::system::error_code error) {
            if (!self->who_) return;
            if (kind != asio::posix::descriptor_base::wait_error) pending = false;
            if (error == asio::error::operation_aborted) return;
            self->ready(error ? asio::posix::descriptor_base::wait_error : kind);
        });
    }
    void ready(wait_kind kind) {
        unsigned told = kind == asio::posix::descriptor_base::wait_read    ? readable
                        : kind == asio::posix::descriptor_base::wait_write ? writable
                                                                           : broken;
        told &= wanted_ | broken;
        if (told == 0) return;
        std::shared_ptr<asio_loop> alive = owner_->self();
        loop_thread_mark here(alive->runner_);
        who_->on_ready(told);
        if (who_) want(wanted_);
    }

    asio_loop* owner_;  // null: silenced, or the loop has ended
    watcher* who_;
    std::optional<asio::posix::basic_stream_descriptor<asio::any_io_executor>> fd_;
    unsigned wanted_ = 0;
    bool reading_ = false;
    bool writing_ = false;
    bool watching_ = false;
};

asio_loop::asio_loop(asio::io_context& context, io_threads threads)
    : executor_(threads == io_threads::one ? asio::any_io_executor(context.get_executor())
                                           : asio::any_io_executor(asio::make_strand(context))),
      alarm_(executor_) {}

std::shared_ptr<asio_loop> asio_loop::create(asio::io_context& context, io_threads threads) {
    std::shared_ptr<asio_loop> made(new asio_loop(context, threads));
    asio::use_service<loops_of_context>(context).add(made);
    return made;
}

asio_loop::~asio_loop() { end(); }

void asio_loop::end() noexcept {
    std::vector<std::function<void()>> dropped;
    {
        std::lock_guard lock(mutex_);
        if (std::exchange(ended_, true)) return;
        dropped.swap(posted_);
    }
    running_.clear();
    alarm_.reset();  // before the timers: destructors of their work must not start new ones
    timers_.clear();
    for (const std::weak_ptr<descriptor>& w : std::exchange(descriptors_, {})) {
        if (auto d = w.lock()) d->silence();
    }
    // The executor refers to the io_context, which may be destroyed after this.
    executor_ = {};
    drop_workers();
}

bool asio_loop::post(std::function<void()> work) {
    // The lock is held during asio::post, so that `end` cannot run in between.
    std::lock_guard lock(mutex_);
    if (ended_) return false;
    posted_.push_back(std::move(work));
    if (!scheduled_) schedule();
    return true;
}

void asio_loop::schedule() {
    asio::post(executor_, [me = self()] { me->run_posted(); });
    scheduled_ = true;
}

void asio_loop::run_posted() {
    loop_thread_mark here(runner_);
    {
        std::lock_guard lock(mutex_);
        scheduled_ = false;
        if (ended_) return;
        if (running_.empty()) running_.take(posted_);
        if (!posted_.empty()) schedule();
    }
    struct rest {
        asio_loop& self;
        ~rest() {
            if (self.running_.empty()) return;
            // A function threw: io_context::run throws its exception, and the remaining functions run in another turn.
            std::lock_guard lock(self.mutex_);
            if (!self.ended_ && !self.scheduled_) self.schedule();
        }
    } unfinished{*this};
    running_.run();
}

loop::timer asio_loop::start_timer(time_point when, std::function<void()> work) {
    if (!alarm_) return 0;
    timer id = timers_.add(when, std::move(work));
    arm();
    return id;
}

void asio_loop::stop_timer(timer id) noexcept {
    if (!timers_.remove(id) || running_timers_ || alarm_at_ == time_point::max()) return;
    // If other timers are pending, a needless wake-up is cheaper than setting the alarm again. If no timer is ever due, the alarm
    // must not keep the io_context busy.
    if (!timers_.empty() && timers_.next() != time_point::max()) return;
    alarm_at_ = time_point::max();
    if (alarm_) alarm_->cancel();
}

void asio_loop::arm() {
    if (running_timers_ || timers_.empty() || timers_.next() >= alarm_at_) return;
    alarm_at_ = timers_.next();
    alarm_->expires_at(alarm_at_);
    alarm_->async_wait([me = self()](boost::system::error_code error) {
        if (!error && me->alarm_) me->run_timers();
    });
}

void asio_loop::run_timers() {
    loop_thread_mark here(runner_);
    alarm_at_ = time_point::max();
    running_timers_ = true;
    struct again {
        asio_loop& self;
        ~again() {
            self.running_timers_ = false;
            if (self.alarm_) self.arm();
        }
    } after{*this};
    time_point moment = now();
    while (std::function<void()> due = timers_.take_due(moment)) due();
}

std::unique_ptr<reactor::watch> asio_loop::watch_descriptor(int fd, watcher& who) {
    if (!can_be_waited_for(fd)) return nullptr;
    class held final : public watch {
    public:
        explicit held(std::shared_ptr<descriptor> d) noexcept : descriptor_(std::move(d)) {}
        ~held() override { descriptor_->silence(); }
        void want(unsigned events) override { descriptor_->want(events); }

    private:
        std::shared_ptr<descriptor> descriptor_;
    };
    auto made = std::make_shared<descriptor>(*this, fd, who);
    std::erase_if(descriptors_, [](const std::weak_ptr<descriptor>& w) { return w.expired(); });
    descriptors_.push_back(made);
    made->want(0);
    return std::make_unique<held>(std::move(made));
}

}  // namespace async

std::shared_ptr<loop> loop_on(asio::io_context& context) {
    return asio::use_service<async::loops_of_context>(context).common(context);
}

boost::asio::any_io_executor executor_of(const loop& l) {
    if (auto* found = dynamic_cast<const async::asio_loop*>(&l)) return found->executor();
    return {};
}

}  // namespace keel
