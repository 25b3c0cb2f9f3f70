// expect: keel: this type is not described: add KEEL_DESCRIBE(type, members...) after it
#include <keel/client.hpp>

struct args {
    int x = 0;
};

keel::task<keel::tool_result> call(keel::client& c, const args& a) { return c.call_tool("add", a); }
