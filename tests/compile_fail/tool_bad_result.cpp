// expect: keel: a tool must return std::string, keel::content, keel::tool_result, a number, void, json::value, a described struct
#include <keel/server.hpp>

struct result {
    int a = 0;
};

void add(keel::server& s) {
    s.add_tool("add", "", [] { return result{}; });
}
