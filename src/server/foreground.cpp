#include "server/foreground.hpp"

#include "server/server_impl.hpp"
#include "server/signals.hpp"

#include <cstdio>
#include <cstdlib>

namespace keel::inline KEEL_ABI {

namespace server_side {

int serve_in_foreground(server& s, const command_line& line,
                        const std::function<void(const std::shared_ptr<epoll_loop>&)>& open_more) {
    auto& impl = *server_access::of(s);
    if (!impl.core->options.log) impl.core->set_fallback_log(line.level);
    open_missing_standard_descriptors();
    auto on = epoll_loop::create();
    limits bounds = impl.core->options.limits;
    if (line.drain) bounds.drain_on_eof = *line.drain;
    duration drain = line.drain.value_or(duration::zero());
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
    // On the loop's own thread, before anything is served: a failure to open is told plainly.
    on->post([&] {
        try {
            for (const endpoint& where : line.endpoints) {
                // Whoever started the program is gone when its end of standard input is: so is the program then.
                impl.open(on, where, bounds, line.drain.has_value(), [&impl, drain] { impl.request_stop(drain); });
                if (where.where != endpoint::kind::stdio) {
                    std::fprintf(stderr, "%s: serving %s\n", s.about().name.c_str(), s.address().c_str());
                }
            }
            if (open_more) open_more(on);
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
        // Their threads cannot be ended, and leaving main would pull everything from under them.
        std::fprintf(stderr, "%s: %zu handlers did not stop; leaving them behind\n", s.about().name.c_str(), stuck);
        std::fflush(nullptr);
        std::_Exit(status);
    }
    impl.finish();
    return status;
}

}  // namespace server_side

int run_stdio(server& s) {
    server_side::command_line line;
    line.endpoints.push_back(endpoint::stdio());
    return server_side::serve_in_foreground(s, line);
}

}  // namespace keel
