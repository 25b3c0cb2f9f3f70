#include "server/background_loop.hpp"

#include <future>
#include <stdexcept>
#include <string>
#include <system_error>

namespace keel::inline KEEL_ABI::server_side {

namespace {

// An error on the background thread, as a value: exception objects are not passed between threads.
struct start_failure {
    std::string what = {};
    std::error_code code = {};
    bool invalid = false;  // an argument of the caller

    /// Removes the text of the error code, which std::system_error appends again.
    std::string without_code() const {
        std::string tail = ": " + code.message();
        return what.ends_with(tail) ? what.substr(0, what.size() - tail.size()) : what;
    }
};

}  // namespace

std::shared_ptr<async::epoll_loop> background_loop::start() {
    std::lock_guard lock(mutex_);
    if (!loop_) {
        loop_ = async::epoll_loop::create();
        thread_ = std::thread([l = loop_] {
            l->run();
            l->end();
        });
    }
    return loop_;
}

std::shared_ptr<async::epoll_loop> background_loop::loop() const {
    std::lock_guard lock(mutex_);
    return loop_;
}

bool background_loop::here() const {
    std::lock_guard lock(mutex_);
    return loop_ && loop_->here();
}

void background_loop::run(function f) {
    auto on = start();
    if (on->here()) return f(on);
    auto ended = std::make_shared<std::promise<start_failure>>();
    auto future = ended->get_future();
    bool posted = on->post([on, f = std::move(f), ended] {
        start_failure failed;
        try {
            f(on);
        } catch (const std::system_error& e) {
            failed = {e.what(), e.code()};
        } catch (const std::invalid_argument& e) {
            failed = {e.what(), {}, true};
        } catch (const std::exception& e) {
            failed = {e.what(), {}};
        }
        ended->set_value(std::move(failed));
    });
    ended.reset();  // if the loop ends first, the caller gets a broken promise
    if (!posted) throw std::runtime_error("keel: the server was stopped while it was starting");
    start_failure failed = future.get();
    if (failed.code) throw std::system_error(failed.code, failed.without_code());
    if (failed.invalid) throw std::invalid_argument(failed.what);
    if (!failed.what.empty()) throw std::runtime_error(failed.what);
}

void background_loop::end() {
    std::thread ending;
    std::shared_ptr<async::epoll_loop> l;
    {
        std::lock_guard lock(mutex_);
        ending.swap(thread_);
        l = std::exchange(loop_, nullptr);
    }
    if (!l) return;
    l->stop();
    if (!ending.joinable()) return;
    if (ending.get_id() == std::this_thread::get_id())
        ending.detach();  // this is the background thread: its loop ends with this turn
    else ending.join();
}

}  // namespace keel::server_side
