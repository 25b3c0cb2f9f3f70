// The ways a call can fail, and what the client sees in each case.

#include <keel/main.hpp>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

namespace json = keel::json;

struct row_args {
    int row = 0;
};
KEEL_DESCRIBE(row_args, (row, keel::minimum(0)))

// For the model: it reads the text and may correct its call.
keel::tool_result read_row(row_args in) {
    if (in.row > 99) return keel::tool_result::failure("there are only 100 rows");
    return "row " + std::to_string(in.row);
}

// The same from a function that returns another type.
struct row {
    std::string text;
};
KEEL_DESCRIBE(row, text)

row read_last_row() { throw keel::tool_failure("the table is empty"); }

// For the calling program: a protocol error with a code and data.
std::string lock_row(row_args in) {
    if (in.row == 7) throw keel::error(1409, "the row is locked", json::object("row", in.row));
    return "locked";
}

// Unexpected: the client gets "internal error"; the exception text goes to the log only.
std::string open_database() {
    std::ifstream file("/nonexistent/database");
    if (!file) throw std::runtime_error("cannot open /nonexistent/database");
    return "open";
}

// A request to the client that fails throws. A handler that can continue without the answer catches it.
keel::task<std::string> greet(keel::context& ctx) {
    std::string where = "somewhere";
    try {
        std::vector<keel::root> roots = co_await ctx.list_roots();
        if (!roots.empty()) where = roots.front().uri;
    } catch (const keel::error& e) {
        if (e.kind() != keel::error_kind::unavailable) throw;
    }
    co_return "hello from " + where;
}

int main(int argc, char** argv) {
    keel::server_options options;
    options.log = [](keel::log_level level, std::string_view text) {
        if (level >= keel::log_level::warning) std::fprintf(stderr, "errors: %.*s\n", int(text.size()), text.data());
    };
    keel::server server({.name = "errors", .version = "1.0.0"}, options);
    server.add_tool("read_row", "Fails with a text for the model", &read_row);
    server.add_tool("read_last_row", "The same, as an exception", &read_last_row);
    server.add_tool("lock_row", "Fails with a protocol error", &lock_row);
    server.add_tool("open_database", "Fails unexpectedly", &open_database);
    server.add_tool("greet", "Continues without an answer from the client", &greet);
    return keel::main(server, argc, argv);
}
