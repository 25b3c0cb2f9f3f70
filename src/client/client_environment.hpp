#pragma once

// What a client was created with: its loop, its server, its options and its log.

#include "client/link.hpp"

#include <keel/client.hpp>

#include <cxxabi.h>

#include <exception>
#include <memory>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::client_side {

/// The base class of detail::client_engine and the first thing that every part of a client gets. Immutable; safe to use from any thread.
///
/// The parts of a client refer to each other without ownership. A task that may outlive the code that started it keeps the whole client
/// alive with `auto held = environment.shared_from_this();`.
class client_environment : public std::enable_shared_from_this<client_environment> {
public:
    /// Throws std::invalid_argument if the options are invalid.
    client_environment(std::shared_ptr<loop> on, std::shared_ptr<connector> where, client_options options);
    client_environment(const client_environment&) = delete;
    client_environment& operator=(const client_environment&) = delete;

    const std::shared_ptr<loop> on;
    const std::shared_ptr<connector> where;
    const client_options options;

    /// The deadline of a call that starts now. On the loop.
    time_point due_of(const call_options& how) const noexcept {
        return after(on->now(), how.total > duration::zero() ? how.total : options.limits.request_total);
    }
    void log(log_level level, std::string_view text) const;
    /// Calls user code; logs exceptions instead of passing them on (D16).
    template <class F>
    void catch_and_log(const char* what, F f) const;

protected:
    ~client_environment() = default;
};

template <class F>
void client_environment::catch_and_log(const char* what, F f) const {
    try {
        f();
    } catch (const std::exception& e) {
        log(log_level::error, std::string(what) + " failed: " + e.what());
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (...) {  // user code may throw any type
        log(log_level::error, std::string(what) + " failed");
    }
}

}  // namespace keel::client_side
