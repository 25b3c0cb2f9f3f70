#pragma once

// The features of a client on top of its request_sender: tools, resources, prompts, completion, ping and generic requests.

#include "client/engine_ptr.hpp"

#include <keel/client.hpp>

#include <map>
#include <string>
#include <vector>

namespace keel::inline KEEL_ABI::client_side {

// The tasks run on the loop of the client, and keep the client alive.

/// `arguments` repeat those in `members`; needed over HTTP for the Mcp-Param headers, else null.
task<tool_result> call_tool(engine_ptr client, std::string name, std::string members, json::value arguments,
                            call_options how);
task<std::vector<resource_contents>> read_resource(engine_ptr client, std::string uri, call_options how);
task<prompt_result> get_prompt(engine_ptr client, std::string name, std::map<std::string, std::string> arguments,
                               call_options how);
task<completion> complete(engine_ptr client, bool of_prompt, std::string which, std::string argument, std::string value,
                          std::map<std::string, std::string> others, call_options how);
task<void> ping(engine_ptr client, call_options how);
task<void> set_log_level(engine_ptr client, log_level from, call_options how);
task<json::value> request(engine_ptr client, std::string method, json::value params, call_options how);
task<request_round> request_once(engine_ptr client, std::string method, json::value params, round_answers answers,
                                 call_options how);

/// Any thread. Throws std::invalid_argument for invalid roots.
void set_roots(const engine_ptr& client, std::vector<root> now);

}  // namespace keel::client_side
