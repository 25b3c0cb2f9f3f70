// expect: keel: json::object takes names and contents in turn: json::object("a", 1, "b", 2)
#include <keel/json.hpp>

keel::json::value f() { return keel::json::object("a", 1, "b"); }
