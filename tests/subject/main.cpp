// The server that drivers control over real sockets. Each of its calls waits, sends messages, asks or fails when the
// test says so.

#include "board.hpp"
#include "settings.hpp"
#include "subject.hpp"

#include <keel/main.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

int main(int argc, char** argv) {
    keel::subject::settings settings = keel::subject::read_settings({argv + 1, argv + argc});
    settings.server.log = [](keel::log_level level, std::string_view text) {
        std::string line = std::string(keel::name_of(level)) + ": " + std::string(text) + "\n";
        std::fputs(line.c_str(), stderr);
    };
    keel::server server({.name = "test-subject", .version = "1"}, settings.server);
    auto board = std::make_shared<keel::subject::board>();
    server.on_start([board] { return board; });
    keel::subject::add_parked(server);
    keel::subject::add_control(server);
    keel::subject::add_answers(server);
    keel::subject::add_changes(server);
    keel::subject::add_census(server);
    int status = settings.address.empty() ? keel::main(server, argc, argv) : keel::subject::serve(server, settings);
    board->forget_all();
    // The objects of an abandoned handler are never freed (F4), so a leak check would always report them.
    if (server.health().abandoned > 0) {
        std::fflush(nullptr);
        std::_Exit(status);
    }
    return status;
}
