#include "server/command_line.hpp"
#include "server/server_impl.hpp"
#include "server/signals.hpp"

#include <cstdio>
#include <cstdlib>

namespace keel {

/// Serving on the calling thread.
struct serving {
    static int run(server& s, const server_side::command_line& line) {
        auto& impl = *s.impl_;
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
        server_side::signal_watch signals(*on, [&impl, drain] { impl.request_stop(drain); });
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
};

int main(server& s, int argc, const char* const* argv) {
    server_side::command_line line = server_side::read_command_line(argc, argv);
    if (line.help) {
        std::string text = server_side::help_text(argc > 0 ? argv[0] : s.about().name, s.about());
        std::fputs(text.c_str(), stdout);
        return 0;
    }
    if (!line.problem.empty()) {
        std::fprintf(stderr, "%s: %s\nTry --help.\n", s.about().name.c_str(), line.problem.c_str());
        return 2;
    }
    return serving::run(s, line);
}

int run_stdio(server& s) {
    server_side::command_line line;
    line.endpoints.push_back(endpoint::stdio());
    return serving::run(s, line);
}

}  // namespace keel
