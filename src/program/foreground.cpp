#include "program/foreground.hpp"

#include "program/signals.hpp"
#include "server/server_impl.hpp"

#include <keel/main.hpp>

#include <cstdio>
#include <cstdlib>

namespace keel::inline KEEL_ABI {

namespace program {

int serve_in_foreground(server& s, const foreground_options& how) {
    auto& impl = *server_access::of(s);
    if (!impl.core->options.log) impl.core->set_fallback_log(how.level);
    open_missing_standard_descriptors();
    auto on = async::epoll_loop::create();
    limits bounds = impl.core->options.limits;
    if (how.drain) bounds.drain_on_eof = *how.drain;
    duration drain = how.drain.value_or(duration::zero());
    int status = 0;
    try {
        impl.begin();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s: could not start: %s\n", s.about().name.c_str(), e.what());
        return 1;
    }

    {
        std::lock_guard lock(impl.mutex);
        impl.when_idle = [on] { on->stop(); };
    }
    signal_watch signals(*on, [&impl, drain] { impl.request_stop(drain); });
    // On the loop's own thread, before anything is served, so that a failure to open is reported before the first request.
    on->post([&] {
        try {
            for (const endpoint& where : how.endpoints) {
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
    {
        std::lock_guard lock(impl.mutex);
        impl.when_idle = nullptr;
    }
    on->end();
    std::size_t stuck = impl.end_workers();
    if (stuck > 0) {
        // Their threads cannot be stopped, and returning from main would destroy objects that they use.
        std::fprintf(stderr, "%s: %zu handlers did not stop; exiting without them\n", s.about().name.c_str(), stuck);
        std::fflush(nullptr);
        std::_Exit(status);
    }
    impl.finish();
    return status;
}

}  // namespace program

int run_stdio(server& s) {
    program::foreground_options how;
    how.endpoints.push_back(endpoint::stdio());
    return program::serve_in_foreground(s, how);
}

}  // namespace keel
