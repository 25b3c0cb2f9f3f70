// The cost of validating tool arguments against a schema, compared with parsing the same text.
//
//     bench-schema_validate [iterations]
//     valgrind --tool=callgrind bench-schema_validate 10000

#include <keel/json.hpp>
#include <keel/schema.hpp>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace {

using namespace keel;

// Five properties, including an enum, a nested object and an array of strings.
constexpr std::string_view tool_schema = R"({
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "maxLength": 1000},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "order": {"type": "string", "enum": ["relevance", "newest", "oldest"]},
        "filter": {
            "type": "object",
            "properties": {
                "author": {"type": "string"},
                "since": {"type": "string"},
                "archived": {"type": "boolean"}
            },
            "required": ["author"],
            "additionalProperties": false
        },
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 10}
    },
    "required": ["query", "limit"],
    "additionalProperties": false
})";
constexpr std::string_view call =
    R"({"query":"how do I validate arguments","limit":20,"order":"newest",)"
    R"("filter":{"author":"someone","since":"2024-01-01","archived":false},"tags":["schema","json","speed"]})";

template <class Work>
double nanoseconds(long iterations, Work&& work) {
    const std::clock_t start = std::clock();  // CPU time: other programs do not count
    long good = 0;
    for (long i = 0; i != iterations; ++i) good += work();
    const double spent = 1e9 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (good != iterations) {
        std::fprintf(stderr, "%ld of %ld failed\n", iterations - good, iterations);
        std::exit(1);
    }
    return spent / static_cast<double>(iterations);
}

}  // namespace

int main(int argc, char** argv) {
    const long iterations = argc > 1 ? std::atol(argv[1]) : 1'000'000;
    const json::value described = json::parse(tool_schema);
    const schema ready(described);
    json::document source;
    const double reading = nanoseconds(iterations, [&] { return source.read(call) != nullptr; });
    const json::value& arguments = *source.read(call);
    const double checking = nanoseconds(iterations, [&] { return ready.accepts(arguments); });
    const double making = nanoseconds(iterations / 100 + 1, [&] { return !schema(described).empty(); });
    std::printf("read      %8.1f ns\ncheck     %8.1f ns (%.2f of reading)\nmake ready %7.1f ns\n", reading, checking,
                checking / reading, making);
}
