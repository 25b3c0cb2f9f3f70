#include "program/foreground.hpp"

#include "program/service_notify.hpp"
#include "program/signals.hpp"
#include "server/server_impl.hpp"
#include "server/staged_shutdown.hpp"

#include <keel/main.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace keel::inline KEEL_ABI {

namespace program {

namespace {

struct environment_settings {
    service_request service;
    bool watch_client = true;
};

/// Throws std::invalid_argument with the name of an invalid variable.
environment_settings read_environment(const foreground_options& how) {
    environment_settings out;
    out.service = take_service_request();
    std::optional<bool> watch = how.watch_client;
    if (!watch) watch = read_watch_client(std::getenv("KEEL_WATCH_CLIENT"));
    if (!watch) {
        throw std::invalid_argument("KEEL_WATCH_CLIENT: invalid value \"" +
                                    std::string(std::getenv("KEEL_WATCH_CLIENT")) + "\" (on or off)");
    }
    out.watch_client = *watch;
    return out;
}

void apply(const limit_overrides& given, server_side::server_core& core) {
    limits bounds = core.options.limits;
    bounds.max_in_flight_total = given.max_in_flight.value_or(bounds.max_in_flight_total);
    bounds.max_in_flight = given.max_in_flight_each.value_or(bounds.max_in_flight);
    bounds.max_message = given.max_message.value_or(bounds.max_message);
    core.set_limits(bounds, given.max_connections.value_or(core.options.max_connections));
}

/// One run of a server on the calling thread. Everything is called on its loop, except the constructor and `run`.
class foreground_run {
public:
    foreground_run(server& s, const foreground_options& how, const environment_settings& settings)
        : server_(s), impl_(*server_access::of(s)), how_(how), watch_client_(settings.watch_client),
          notify_(loop_, settings.service, [this](const std::string& why) { log(log_level::error, why); }),
          shutdown_(
              *loop_, how.shutdown_delay,
              [this] {
                  notify_.stopping();
                  if (how_.announce_stop) how_.announce_stop();
              },
              [this] { impl_.request_stop(drain()); }) {
        bool serves_stdio = std::any_of(how.endpoints.begin(), how.endpoints.end(),
                                        [](const endpoint& each) { return each.where == endpoint::kind::stdio; });
        ends_on_hang_up_ = serves_stdio && input_is_terminal();
        signals_.emplace(*loop_, [this] { shutdown_.begin(); }, [this] { hang_up(); });
    }

    /// Returns the exit status.
    int run() {
        impl_.on_idle([on = loop_] { on->stop(); });
        // On the loop's own thread, before anything is served, so that a failure to open is reported before the first request.
        loop_->post([this] { open(); });
        loop_->run();
        impl_.on_idle({});
        loop_->end();
        return status_;
    }

private:
    duration drain() const { return how_.drain.value_or(duration::zero()); }
    void log(log_level level, const std::string& text) { impl_.core().log(level, text); }

    void open() {
        try {
            limits bounds = impl_.core().options.limits;
            if (how_.drain) bounds.drain_on_eof = *how_.drain;
            for (endpoint where : how_.endpoints) {
                where.watch_client = watch_client_;
                // The process that started this program owns its standard input: when that ends, this program stops too.
                impl_.open(loop_, where, bounds, how_.drain.has_value(), [this] { shutdown_.begin(); });
                if (where.where != endpoint::kind::stdio) {
                    std::fprintf(stderr, "%s: serving %s\n", server_.about().name.c_str(), server_.address().c_str());
                }
            }
            if (how_.open_more) how_.open_more(loop_);
            notify_.ready();
        } catch (const std::exception& e) {
            std::fprintf(stderr, "%s: %s\n", server_.about().name.c_str(), e.what());
            status_ = 1;
            shutdown_.drain_now();
        }
    }

    void hang_up() {
        if (ends_on_hang_up_) return shutdown_.begin();
        const bool serving = shutdown_.now() == server_side::staged_shutdown::stage::serving;
        if (serving) notify_.reloading();
        for (const reload_hook& each : how_.on_reload) {
            try {
                each.run();
            } catch (const std::exception& e) {
                log(log_level::error, "SIGHUP: cannot reload the " + each.what + ": " + e.what());
            }
        }
        log(log_level::notice, "SIGHUP: reloaded");
        if (serving) notify_.ready();
    }

    server& server_;
    server_access::impl& impl_;
    const foreground_options& how_;
    const bool watch_client_;
    const std::shared_ptr<async::epoll_loop> loop_ = async::epoll_loop::create();
    service_notify notify_;
    server_side::staged_shutdown shutdown_;
    bool ends_on_hang_up_ = false;
    int status_ = 0;
    std::optional<signal_watch> signals_;  // last: its callbacks use everything above
};

}  // namespace

std::optional<bool> read_watch_client(const char* value) {
    std::string_view text = value ? value : "";
    if (text.empty() || text == "on" || text == "1") return true;
    if (text == "off" || text == "0") return false;
    return std::nullopt;
}

int serve_in_foreground(server& s, const foreground_options& how) {
    auto& impl = *server_access::of(s);
    if (!impl.core().options.log)
        impl.core().set_fallback_log(how.log ? how.log : log_to(2, {.least = how.level, .name = s.about().name}));
    apply(how.limits, impl.core());
    open_missing_standard_descriptors();
    environment_settings settings;
    try {
        settings = read_environment(how);
    } catch (const std::invalid_argument& e) {
        std::fprintf(stderr, "%s: %s\n", s.about().name.c_str(), e.what());
        return 2;
    }
    try {
        impl.begin();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s: could not start: %s\n", s.about().name.c_str(), e.what());
        return 1;
    }
    foreground_run foreground(
        s, how, settings);  // until the end: a second signal must end the process while handlers are stuck
    int status = foreground.run();
    std::size_t stuck = impl.end_workers();
    if (stuck > 0) {
        // Their threads cannot be stopped, and returning from main would destroy objects that they use.
        std::fprintf(stderr, "%s: %zu handlers did not stop; exiting without them\n", s.about().name.c_str(), stuck);
        std::fflush(nullptr);
        std::_Exit(status);
    }
    impl.hooks().finish();
    return status;
}

}  // namespace program

int run_stdio(server& s) {
    program::foreground_options how;
    how.endpoints.push_back(endpoint::stdio());
    return program::serve_in_foreground(s, how);
}

}  // namespace keel
