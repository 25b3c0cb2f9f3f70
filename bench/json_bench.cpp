#include <keel/json.hpp>

#include <benchmark/benchmark.h>

#include <string>

// Reads, writes and copies typical messages: small calls, large blobs, text with many escapes.

namespace {

using namespace keel;

const std::string& call() {
    static const std::string text =
        R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}})";
    return text;
}

std::string repeated(std::string_view piece, std::size_t size) {
    std::string text = "{\"text\":\"";
    while (text.size() < size) text += piece;
    return text += "\"}";
}

std::string many_members() {
    std::string text = "{";
    for (int i = 0; i != 100'000; ++i) text += "\"name " + std::to_string(i) + "\":" + std::to_string(i) + ",";
    text.back() = '}';
    return text;
}

std::string many_reals() {
    std::string text = "[";
    for (int i = 0; i != 100'000; ++i) text += std::to_string(i * 0.37) + ",";
    text.back() = ']';
    return text;
}

void read(benchmark::State& state, const std::string& text) {
    json::document source;
    for (auto _ : state) benchmark::DoNotOptimize(source.read(text));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void write(benchmark::State& state, const std::string& text) {
    const json::value v = json::parse(text);
    std::string out;
    for (auto _ : state) {
        out.clear();
        benchmark::DoNotOptimize(json::write(out, v));
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(out.size()));
}

void copy_out(benchmark::State& state, const std::string& text) {
    json::document source;
    const json::value* v = source.read(text);
    for (auto _ : state) benchmark::DoNotOptimize(json::value(*v));
}

BENCHMARK_CAPTURE(read, call, call());
BENCHMARK_CAPTURE(write, call, call());
BENCHMARK_CAPTURE(copy_out, call, call());
BENCHMARK_CAPTURE(read, blob_10_mb, repeated("QUJD", 10'000'000));
BENCHMARK_CAPTURE(write, blob_10_mb, repeated("QUJD", 10'000'000));
BENCHMARK_CAPTURE(read, escaped_1_mb, repeated(R"(a \"quoted\" word and a line\n)", 1'000'000));
BENCHMARK_CAPTURE(write, escaped_1_mb, repeated(R"(a \"quoted\" word and a line\n)", 1'000'000));
BENCHMARK_CAPTURE(read, not_ascii_1_mb, repeated("\xE4\xBD\xA0\xE5\xA5\xBD ", 1'000'000));
BENCHMARK_CAPTURE(write, not_ascii_1_mb, repeated("\xE4\xBD\xA0\xE5\xA5\xBD ", 1'000'000));
BENCHMARK_CAPTURE(read, members_100k, many_members());
BENCHMARK_CAPTURE(read, reals_100k, many_reals());
BENCHMARK_CAPTURE(write, reals_100k, many_reals());

}  // namespace
