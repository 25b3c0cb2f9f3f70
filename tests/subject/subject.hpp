#pragma once

// A server whose calls the test controls step by step: calls wait until other calls release them, and report what
// happened.

#include <keel/server.hpp>

namespace keel::subject {

void add_parked(server& s);   // park, block, ask: calls that wait
void add_control(server& s);  // release, emit, let_go, status, wait_status, clean_up, forget: control them
void add_answers(server& s);  // echo, speak, log, big, fail, who, mirrored: calls that answer at once
void add_changes(server& s);  // touch, add_tool, remove_tool, and the objects that they change
void add_census(server& s);

}  // namespace keel::subject
