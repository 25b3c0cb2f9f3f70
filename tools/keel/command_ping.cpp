// keel ping

#include "commands.hpp"
#include "exit_status.hpp"
#include "printable.hpp"

#include <keel/types_json.hpp>

#include <chrono>
#include <cstdio>

namespace keel::command {

int ping(command_session& s) {
    auto begin = std::chrono::steady_clock::now();
    s.client().ping(s.call());
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    server_facts facts = s.client().server();
    if (s.how().json) {
        json::value told = json::object({{"protocolVersion", facts.protocol_version},
                                         {"serverInfo", encode(facts.about)},
                                         {"capabilities", facts.capabilities},
                                         {"milliseconds", took.count()}});
        if (!facts.instructions.empty()) told.set("instructions", facts.instructions);
        write_json(told);
        return exit_status::ok;
    }
    std::string name = printable_line(facts.about.name + " " + facts.about.version);
    char text[64];
    std::snprintf(text, sizeof text, " answered in %.1f ms, protocol ", took.count());
    write_out(name + text + printable_line(facts.protocol_version) + "\n");
    if (!facts.instructions.empty()) write_out(printable(facts.instructions) + "\n");
    return exit_status::ok;
}

}  // namespace keel::command
