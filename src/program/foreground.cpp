#include "program/foreground.hpp"

#include "program/signals.hpp"
#include "server/server_impl.hpp"

#include <keel/main.hpp>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace keel::inline KEEL_ABI {

namespace program {

std::optional<bool> read_watch_client(const char* value) {
    std::string_view text = value ? value : "";
    if (text.empty() || text == "on" || text == "1") return true;
    if (text == "off" || text == "0") return false;
    return std::nullopt;
}

int serve_in_foreground(server& s, const foreground_options& how) {
    auto& impl = *server_access::of(s);
    if (!impl.core().options.log) impl.core().set_fallback_log(how.level);
    open_missing_standard_descriptors();
    std::optional<bool> watch_client = how.watch_client;
    if (!watch_client) watch_client = read_watch_client(std::getenv("KEEL_WATCH_CLIENT"));
    if (!watch_client) {
        std::fprintf(stderr, "%s: KEEL_WATCH_CLIENT: invalid value \"%s\" (on or off)\n", s.about().name.c_str(),
                     std::getenv("KEEL_WATCH_CLIENT"));
        return 2;
    }
    auto on = async::epoll_loop::create();
    limits bounds = impl.core().options.limits;
    if (how.drain) bounds.drain_on_eof = *how.drain;
    duration drain = how.drain.value_or(duration::zero());
    int status = 0;
    try {
        impl.begin();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s: could not start: %s\n", s.about().name.c_str(), e.what());
        return 1;
    }

    impl.on_idle([on] { on->stop(); });
    signal_watch signals(*on, [&impl, drain] { impl.request_stop(drain); });
    // On the loop's own thread, before anything is served, so that a failure to open is reported before the first request.
    on->post([&] {
        try {
            for (endpoint where : how.endpoints) {
                where.watch_client = *watch_client;
                // The process that started this program owns its standard input: when that ends, this program stops too.
                impl.open(on, where, bounds, how.drain.has_value(), [&impl, drain] { impl.request_stop(drain); });
                if (where.where != endpoint::kind::stdio) {
                    std::fprintf(stderr, "%s: serving %s\n", s.about().name.c_str(), s.address().c_str());
                }
            }
            if (how.open_more) how.open_more(on);
        } catch (const std::exception& e) {
            std::fprintf(stderr, "%s: %s\n", s.about().name.c_str(), e.what());
            status = 1;
            impl.request_stop({});
        }
    });
    on->run();
    impl.on_idle({});
    on->end();
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
