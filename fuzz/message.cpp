// Lines from a peer: the decoder classifies any line, the peer sends only allowed messages, and its messages can be
// read.

#include "rpc/message.hpp"
#include "rpc/byte_stream_sink.hpp"
#include "rpc/peer_core.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace keel;

void require(bool holds) {
    if (!holds) std::abort();
}

void write_all(rpc::byte_stream_sink& sink, rpc::peer_core& core) {
    sink.on_written(sink.pending().size(), time_point());
    core.on_drained();
}

void check_answers(rpc::byte_stream_sink& sink, rpc::peer_core& core, bool may_answer) {
    static json::document document;
    core.take_actions();
    std::string_view out = sink.pending();
    require(may_answer || out.empty());
    while (!out.empty()) {
        std::size_t end = out.find('\n');
        require(end != std::string_view::npos);
        const json::value* v = document.read(out.substr(0, end));
        require(v != nullptr);
        for (const json::value& each : v->is_array() ? v->items() : std::span(v, 1)) {
            require(rpc::classify(each).kind == rpc::message_kind::response);
            require(*rpc::classify(each).problem == '\0');
        }
        out.remove_prefix(end + 1);
    }
    write_all(sink, core);
}

void check_id(const rpc::request_id& id) {
    if (!id.present()) return;
    std::string text;
    id.write(text);
    require(rpc::request_id::from(json::parse(text)) == id);
    text.clear();
    rpc::write_error(text, id, {-32603, "x", {}});
    require(rpc::read_truncated(text).id == id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);

    const std::string shown = rpc::printable(text, 50);
    require(json::is_utf8(shown) && shown.size() <= 50 * 4 + 3);
    for (char c : shown) require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    check_id(rpc::read_truncated(text).id);

    static json::document document;
    bool may_answer = true;  // an unreadable line is answered without an id
    if (const json::value* v = document.read(text)) {
        const rpc::message m = rpc::classify(*v);
        check_id(m.id);
        may_answer = m.kind == rpc::message_kind::request || m.kind == rpc::message_kind::invalid;
        if (m.kind == rpc::message_kind::request) require(m.id.present() && !m.method.empty());
        if (m.kind == rpc::message_kind::response) require(m.result || m.error);
        if (m.kind == rpc::message_kind::invalid) require(m.code != 0 && *m.problem != '\0');
    }

    for (bool batches : {false, true}) {
        rpc::byte_stream_sink sink(rpc::role::server, limits{});
        rpc::peer_core server(rpc::role::server, limits{}, sink);
        server.allow_batches(batches);
        server.on_line(text);
        check_answers(sink, server, may_answer);
        server.on_too_large(text);
        check_answers(sink, server, true);
        server.on_remainder(text);
        check_answers(sink, server, may_answer);
        server.on_input_end();
        check_answers(sink, server, true);
    }
    rpc::byte_stream_sink sink(rpc::role::client, limits{});
    rpc::peer_core client(rpc::role::client, limits{}, sink);
    rpc::call_outcome why;
    require(client.call(0, "ask", json::value(), {}, why) == 1);
    write_all(sink, client);
    client.on_line(text);
    check_answers(sink, client, may_answer);
    return 0;
}
