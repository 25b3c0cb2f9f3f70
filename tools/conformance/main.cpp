// The server that the official conformance suite is run against: `conformance-server --http 127.0.0.1:0`.

#include "fixtures.hpp"

#include <keel/main.hpp>
#include <keel/version.hpp>

int main(int argc, char** argv) {
    keel::server server({.name = "keel-conformance-server",
                         .version = KEEL_VERSION,
                         .title = "Keel conformance server",
                         .description = "What the official conformance suite expects to find"});
    keel::conformance::add_content_tools(server);
    keel::conformance::add_message_tools(server);
    keel::conformance::add_schema_tools(server);
    keel::conformance::add_question_tools(server);
    keel::conformance::add_round_tools(server);
    keel::conformance::add_change_tools(server);
    keel::conformance::add_resources(server);
    keel::conformance::add_prompts(server);
    return keel::main(server, argc, argv);
}
