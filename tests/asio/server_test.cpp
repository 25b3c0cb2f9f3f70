// A server on an io_context of the embedding program.

#include <keel/asio.hpp>
#include <keel/server.hpp>
#include <keel/transport.hpp>

#include <doctest/doctest.h>
#include <boost/asio/io_context.hpp>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

class collector final : public keel::connection::listener {
public:
    std::string seen;
    std::function<void()> on_line;

private:
    void on_input(std::string_view bytes) override {
        seen += bytes;
        if (seen.ends_with('\n') && on_line) on_line();
    }
    void on_input_end() override {}
    void on_failure(std::string_view) override {}
    void on_writable() override {}
};

}  // namespace

TEST_CASE("a server runs on the caller's io_context, also when several threads run it") {
    for (int threads : {1, 4}) {
        boost::asio::io_context io;
        keel::server s({.name = "test", .version = "1"});
        s.add_tool("hi", "", [](keel::context& ctx) -> keel::task<std::string> {
            co_await ctx.yield();
            co_return "hi";
        });
        auto loop = keel::loop_on(io);
        auto [ours, theirs_] = keel::memory_pair(*loop, *loop);
        std::unique_ptr<keel::connection> theirs = std::move(theirs_);
        collector seen;
        seen.on_line = [&] { theirs->close(); };
        std::promise<keel::connection_end> ended;
        s.serve(loop, std::move(ours), [&](const keel::connection_end& e) { ended.set_value(e); });
        loop->post([&] {
            theirs->start(seen);
            theirs->write(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hi","_meta":{)"
                          R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                          R"("io.modelcontextprotocol/clientCapabilities":{}}}})"
                          "\n");
        });
        std::vector<std::thread> runners;
        for (int i = 0; i < threads; ++i) runners.emplace_back([&] { io.run(); });
        for (auto& t : runners) t.join();
        CHECK(ended.get_future().get().abandoned == 0);
        CHECK(seen.seen.find("\"hi\"") != std::string::npos);
    }
}
