#pragma once

// Keel with Boost.Asio. This is the only public header that includes Boost.
//
// - In a task, await any Asio operation:             std::size_t n = co_await socket.async_read_some(buffer, keel::use_task);
// - From Asio, run a task with any completion token: co_await keel::spawn(context, work(), boost::asio::use_awaitable);
// - Run Keel on your own io_context:                 std::shared_ptr<keel::loop> loop = keel::loop_on(context);
//
// Needs Boost 1.81 or newer and the library keel::asio (CMake: find_package(keel COMPONENTS asio); pkg-config: keel-asio).
// A program that includes this must be compiled with the Boost that keel::asio was compiled with.

#include <keel/loop.hpp>
#include <keel/task.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace keel::inline KEEL_ABI {

/// How many threads run an io_context. `one` is a little faster; `one` with several threads is a data race.
enum class io_threads : unsigned char { several, one };

/// Returns the loop of an io_context; each io_context has one, created by the first call. The loop runs while the io_context runs,
/// on any number of threads, and ends when the io_context is destroyed.
KEEL_API std::shared_ptr<loop> loop_on(boost::asio::io_context&);

/// Returns the executor (a strand) of a loop on an io_context, for sockets and timers that tasks of that loop use. Returns an empty
/// executor for other loops.
KEEL_API boost::asio::any_io_executor executor_of(const loop&);

/// A completion token that makes an operation awaitable in a keel::task. The await returns the results of the operation (several as
/// a std::tuple) and throws boost::system::system_error for an error.
///
/// Thread-safety: the socket or timer may belong to another thread; the task resumes on its own loop.
/// Cancellation: the operation is cancelled (terminal); when it has ended, the await throws keel::cancelled. The task waits for the
/// end of the operation in any case, because the operation may use its buffers until then.
struct use_task_t {};
inline constexpr use_task_t use_task{};

namespace detail {

// The result of an operation: an exception, or values.
template <class... Args>
struct operation_result {
    using values = std::tuple<Args...>;
    using returned = std::conditional_t<
        sizeof...(Args) == 0, void,
        std::conditional_t<sizeof...(Args) == 1, std::tuple_element_t<0, std::tuple<Args..., void>>, values>>;

    std::variant<std::monostate, values, std::exception_ptr> what;

    template <class... Values>
    void complete(Values&&... given) {
        what.template emplace<1>(std::forward<Values>(given)...);
    }
    returned take() {
        if (what.index() == 2) std::rethrow_exception(std::get<2>(what));
        if constexpr (sizeof...(Args) == 1) {
            return std::get<0>(std::move(std::get<1>(what)));
        } else if constexpr (sizeof...(Args) > 1) {
            return std::get<1>(std::move(what));
        }
    }
};

template <class... Args>
struct signature_result : operation_result<Args...> {};

template <class... Args>
struct signature_result<boost::system::error_code, Args...> : operation_result<Args...> {
    template <class... Values>
    void complete(const boost::system::error_code& error, Values&&... given) {
        if (error) {
            this->what.template emplace<2>(std::make_exception_ptr(boost::system::system_error(error)));
        } else {
            this->what.template emplace<1>(std::forward<Values>(given)...);
        }
    }
};

template <class... Args>
struct signature_result<std::exception_ptr, Args...> : operation_result<Args...> {
    template <class... Values>
    void complete(std::exception_ptr error, Values&&... given) {
        if (error) {
            this->what.template emplace<2>(std::move(error));
        } else {
            this->what.template emplace<1>(std::forward<Values>(given)...);
        }
    }
};

// Owned by the awaitable in the coroutine frame and by the handler of the operation, whichever lives longer.
template <class... Args>
struct pending_operation {
    keel::loop* loop = nullptr;        // outlives the activity, and so all its operations
    std::function<void()> resume;      // runs on the loop
    signature_result<Args...> result;  // written before resume is posted, read after
    boost::asio::cancellation_signal cancel;
};

template <class... Args>
class operation_handler {
public:
    using cancellation_slot_type = boost::asio::cancellation_slot;

    explicit operation_handler(std::shared_ptr<pending_operation<Args...>> p) noexcept : pending_(std::move(p)) {}
    operation_handler(operation_handler&&) noexcept = default;
    operation_handler& operator=(operation_handler&&) = delete;
    ~operation_handler() {
        if (!pending_) return;
        // Destroyed without a call: its io_context was destroyed. The task must still be resumed.
        pending_->result.what.template emplace<2>(
            std::make_exception_ptr(boost::system::system_error(boost::asio::error::operation_aborted)));
        go_on();
    }
    cancellation_slot_type get_cancellation_slot() const noexcept { return pending_->cancel.slot(); }

    template <class... Values>
    void operator()(Values&&... values) {
        pending_->result.complete(std::forward<Values>(values)...);
        go_on();
    }

private:
    void go_on() {
        auto p = std::move(pending_);
        p->cancel.slot().clear();  // the operation has ended; the slot still points into it
        p->loop->post(std::move(p->resume));
    }
    std::shared_ptr<pending_operation<Args...>> pending_;
};

template <class Initiation, class InitArgs, class... Args>
class [[nodiscard("keel: an operation does not start until it is awaited")]] operation final : public wait {
public:
    template <class I, class... Given>
    explicit operation(I&& initiation, Given&&... given)
        : initiation_(std::forward<I>(initiation)), arguments_(std::forward<Given>(given)...) {}
    ~operation() = default;

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        pending_ = std::make_shared<pending_operation<Args...>>();
        pending_->loop = &current().loop();
        pending_->resume = [this] { resume(); };
        if constexpr (has_executor) executor_.emplace(initiation_.get_executor());
        auto keep = pending_;
        try {
            std::apply(
                [&](auto&&... given) {
                    std::move(initiation_)(operation_handler<Args...>(std::move(keep)), std::move(given)...);
                },
                std::move(arguments_));
        } catch (...) {  // rethrown by await_resume: the destroyed handler has posted the resumption
            pending_->result.what.template emplace<2>(std::current_exception());
        }
        return true;
    }
    auto await_resume() {
        check();
        return pending_->result.take();
    }

private:
    void interrupt() noexcept override {
        // Cancellation signals are not thread-safe: emit on the executor of the operation.
        auto emit = [p = pending_] { p->cancel.emit(boost::asio::cancellation_type::terminal); };
        if constexpr (has_executor) {
            boost::asio::dispatch(*executor_, std::move(emit));
        } else {
            emit();
        }
    }

    static constexpr bool has_executor = requires(const Initiation& i) { i.get_executor(); };
    template <class I>
    struct executor_of_initiation {
        using type = std::monostate;
    };
    template <class I>
        requires requires(const I& i) { i.get_executor(); }
    struct executor_of_initiation<I> {
        using type = std::decay_t<decltype(std::declval<const I&>().get_executor())>;
    };

    Initiation initiation_;
    InitArgs arguments_;
    std::optional<typename executor_of_initiation<Initiation>::type> executor_;
    std::shared_ptr<pending_operation<Args...>> pending_;
};

// A keel::loop as an Asio executor, for handlers without an associated executor.
class loop_executor {
public:
    explicit loop_executor(loop& l) noexcept : loop_(&l) {}
    bool operator==(const loop_executor&) const noexcept = default;
    template <class F>
    void execute(F&& f) const {
        auto work = std::make_shared<std::decay_t<F>>(std::forward<F>(f));
        loop_->post([work] { (*work)(); });
    }

private:
    loop* loop_;
};

// A task started from Asio. Owned by its root coroutine; the handler's cancellation slot has a weak reference.
template <class T, class Handler>
class spawned : public std::enable_shared_from_this<spawned<T, Handler>> {
public:
    using executor_type = boost::asio::associated_executor_t<Handler, loop_executor>;

    spawned(loop& l, Handler handler)
        : line_(l), handler_(std::move(handler)),
          executor_(boost::asio::get_associated_executor(*handler_, loop_executor(l))) {
        if constexpr (!std::is_same_v<executor_type, loop_executor>) work_.emplace(executor_);
    }

    void begin(task<T> work) {
        auto slot = boost::asio::get_associated_cancellation_slot(*handler_);
        if (slot.is_connected()) {
            // The signal is emitted on the caller's executor, but the activity belongs to its loop.
            slot.assign([w = this->weak_from_this(), l = &line_.loop()](boost::asio::cancellation_type type) {
                if (type == boost::asio::cancellation_type::none || w.expired()) return;
                l->post([w] {
                    if (auto self = w.lock()) self->line_.stop();
                });
            });
        }
        auto held = std::make_shared<task<T>>(std::move(work));
        auto self = this->shared_from_this();
        bool accepted = line_.loop().post([self, held] {
            start(self->line_, std::move(*held), [self](outcome<T> result) { self->finish(std::move(result)); });
        });
        if (!accepted) finish(outcome<T>(std::in_place_index<0>, std::make_exception_ptr(cancelled())));
    }

private:
    void finish(outcome<T> result) noexcept {
        auto complete = [handler = std::move(*handler_), result = std::move(result)]() mutable {
            boost::asio::get_associated_cancellation_slot(handler).clear();
            std::exception_ptr failure = result.index() == 0 ? std::get<0>(result) : nullptr;
            if constexpr (std::is_void_v<T>) {
                std::move(handler)(failure);
            } else if (failure) {
                std::move(handler)(failure, T());
            } else {
                std::move(handler)(failure, std::get<1>(std::move(result)));
            }
        };
        handler_.reset();
        if constexpr (std::is_same_v<executor_type, loop_executor>) {
            complete();
        } else {
            boost::asio::dispatch(executor_, std::move(complete));
            work_.reset();
        }
    }

    activity line_;
    std::optional<Handler> handler_;
    executor_type executor_;
    std::optional<boost::asio::executor_work_guard<executor_type>> work_;
};

template <class T>
struct spawn_signature {
    using type = void(std::exception_ptr, T);
    static_assert(std::default_initializable<T>,
                  "keel: spawn passes a T to its handler even after an exception, so T needs a default constructor");
};
template <>
struct spawn_signature<void> {
    using type = void(std::exception_ptr);
};

}  // namespace detail

/// Starts a task on a loop. The completion signature is void(std::exception_ptr, T), or void(std::exception_ptr) for task<void>. A
/// handler without an associated executor is called on the loop. Safe to call from any thread. The loop must outlive the task.
/// Cancellation: a signal of any type on the token's cancellation slot cancels the task; the handler is called when it has ended.
template <class T, class CompletionToken>
auto spawn(loop& l, task<T> work, CompletionToken&& token) {
    return boost::asio::async_initiate<CompletionToken, typename detail::spawn_signature<T>::type>(
        [](auto handler, loop* on, task<T> given) {
            using handler_type = std::decay_t<decltype(handler)>;
            std::make_shared<detail::spawned<T, handler_type>>(*on, std::move(handler))->begin(std::move(given));
        },
        token, &l, std::move(work));
}

/// Same, on the loop of an io_context.
template <class T, class CompletionToken>
auto spawn(boost::asio::io_context& context, task<T> work, CompletionToken&& token) {
    // The io_context owns its loop.
    return spawn(*loop_on(context), std::move(work), std::forward<CompletionToken>(token));
}

template <class T, class CompletionToken>
auto spawn(const boost::asio::io_context::executor_type& executor, task<T> work, CompletionToken&& token) {
    return spawn(executor.context(), std::move(work), std::forward<CompletionToken>(token));
}

}  // namespace keel

template <class R, class... Args>
class boost::asio::async_result<keel::use_task_t, R(Args...)> {
public:
    template <class Initiation, class... InitArgs>
    static auto initiate(Initiation&& initiation, keel::use_task_t, InitArgs&&... arguments) {
        return keel::detail::operation<std::decay_t<Initiation>, std::tuple<std::decay_t<InitArgs>...>,
                                       std::decay_t<Args>...>(std::forward<Initiation>(initiation),
                                                              std::forward<InitArgs>(arguments)...);
    }
};
