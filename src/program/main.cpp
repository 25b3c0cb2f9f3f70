#include <keel/main.hpp>

#include "program/command_line.hpp"
#include "program/passed_sockets.hpp"

#include <keel/http_server.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace keel::inline KEEL_ABI {

int main(server& s, int argc, const char* const* argv) { return main(s, argc, argv, {}); }

int main(server& s, int argc, const char* const* argv, http_options defaults) {
    program::command_line line =
        program::read_command_line(argc, argv, [](const char* name) { return std::getenv(name); }, std::move(defaults));
    if (line.help) {
        std::string text = program::help_text(argc > 0 ? argv[0] : s.about().name, s.about());
        std::fputs(text.c_str(), stdout);
        return 0;
    }
    if (line.problem.empty()) line.problem = program::use_passed_sockets(line);
    if (!line.problem.empty()) {
        std::fprintf(stderr, "%s: %s\nTry --help.\n", s.about().name.c_str(), line.problem.c_str());
        return 2;
    }
    if (!line.http_addresses.empty()) line.serving.shutdown_delay = line.http.unready_time;
    try {
        program::set_up_logs(line.log, s.about().name, line.serving, line.http);
    } catch (const std::system_error& e) {
        std::fprintf(stderr, "%s: %s\n", s.about().name.c_str(), e.what());
        return 1;
    }
    std::vector<std::unique_ptr<http_server>> web;
    line.serving.announce_stop = [&] {
        for (const auto& each : web) each->set_ready(false);
    };
    line.serving.open_more = [&](const std::shared_ptr<async::epoll_loop>& on) {
        for (const std::string& address : line.http_addresses) {
            http_options how = line.http;
            if (!web.empty() && !how.monitor_address.empty()) {  // the first one serves the monitor address
                how.monitor_address.clear();
                how.health_path.clear();
                how.ready_path.clear();
                how.metrics_path.clear();
            }
            web.push_back(std::make_unique<http_server>(s, std::move(how)));
            web.back()->start(address, on);
            std::fprintf(stderr, "%s: serving %s\n", s.about().name.c_str(), web.back()->url().c_str());
        }
    };
    line.serving.on_reload.push_back({"TLS certificate", [&] {
                                          for (const auto& each : web) each->reload_certificate();
                                      }});
    return program::serve_in_foreground(s, line.serving);
}

}  // namespace keel
