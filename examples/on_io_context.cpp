// self-test
// A server on an io_context of the program's own, beside whatever else runs there. The other end of the connection is
// in memory, and in this case not a client but a few lines that print what comes back.

#include <keel/asio.hpp>
#include <keel/server.hpp>
#include <keel/transport.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdio>
#include <string>

namespace {

class printer final : public keel::connection::listener {
public:
    explicit printer(keel::connection& wire) : wire_(wire) {}
    std::string seen;

private:
    void on_input(std::string_view bytes) override {
        seen += bytes;
        if (seen.find('\n') != std::string::npos) wire_.close();  // one answer is enough
    }
    void on_input_end() override {}
    void on_failure(std::string_view) override {}
    void on_writable() override {}
    keel::connection& wire_;
};

}  // namespace

int main() {
    boost::asio::io_context io;
    keel::server server({.name = "on-io-context", .version = "1.0.0"});
    server.add_tool("hello", "Says hello", [] { return "hello from the io_context"; }, {.quick = true});

    auto loop = keel::loop_on(io);
    auto [ours, theirs] = keel::memory_pair(*loop, *loop);
    printer out(*theirs);
    theirs->start(out);
    bool ended = false;
    server.serve(loop, std::move(ours), [&](const keel::connection_end&) { ended = true; });
    theirs->write(R"({"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"hello","_meta":{)"
                  R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                  R"("io.modelcontextprotocol/clientCapabilities":{}}}})"
                  "\n");
    io.run();

    std::printf("%s", out.seen.c_str());
    return ended && out.seen.find("hello from the io_context") != std::string::npos ? 0 : 1;
}
