// The whole main function of a server program.

#include "server/foreground.hpp"

#include <keel/http_server.hpp>

#include <cstdio>
#include <vector>

namespace keel::inline KEEL_ABI {

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
    std::vector<std::unique_ptr<http_server>> web;
    return server_side::serve_in_foreground(s, line, [&](const std::shared_ptr<epoll_loop>& on) {
        for (const std::string& address : line.http) {
            web.push_back(std::make_unique<http_server>(s, line.http_rules));
            web.back()->start(address, on);
            std::fprintf(stderr, "%s: serving %s\n", s.about().name.c_str(), web.back()->url().c_str());
        }
    });
}

}  // namespace keel
