#include "rpc/connection_io.hpp"

#include "async/reactor.hpp"

namespace keel::inline KEEL_ABI::rpc {

namespace {

// A base class, not a member of connection_peer: the peer uses it in its constructor.
struct owned_io {
    connection_io io;
};

class connection_peer final : private owned_io, public peer {
public:
    connection_peer(std::shared_ptr<keel::loop> on, std::unique_ptr<connection> wire, role r, const limits& bounds,
                    std::shared_ptr<flight_budget> budget, peer_user& user)
        : owned_io{{std::move(wire), r, bounds, async::spares_of(*on)}},
          peer(std::move(on), io, r, bounds, std::move(budget), user) {
        io.attach(*this);
    }
};

}  // namespace

std::shared_ptr<peer> make_connection_peer(std::shared_ptr<loop> on, std::unique_ptr<connection> wire, role r,
                                           const limits& bounds, std::shared_ptr<flight_budget> budget,
                                           peer_user& user) {
    return std::make_shared<connection_peer>(std::move(on), std::move(wire), r, bounds, std::move(budget), user);
}

connection_io::connection_io(std::unique_ptr<connection> wire, role r, const limits& bounds,
                             async::spare_buffers* spares)
    : byte_stream_sink(r, bounds, spares), wire_(std::move(wire)), framer_(bounds.max_message, spares) {}

void connection_io::on_input(std::string_view bytes) {
    peer_->run_turn([&] {
        framer_.feed(
            bytes,
            [this](std::string_view line) {
                return peer_->receive_line(line, framer_.line_is_kept() ? this : nullptr);
            },
            [this](std::string_view beginning) { peer_->receive_too_large(beginning); });
        if (framer_.incomplete() && !closed_) wire_->expect_more_input();
    });
}

void connection_io::on_input_end() { peer_->receive_end(framer_.remainder()); }

void connection_io::on_failure(std::string_view cause) { peer_->fail(cause); }

void connection_io::on_writable() {
    peer_->run_turn([this] { write_blocked_ = false; });
}

void connection_io::flush(time_point now) {
    while (!write_blocked_ && !closed_) {
        std::string_view bytes = pending();
        if (bytes.empty()) break;
        connection::written w = wire_->write(bytes);
        if (!w.failure.empty()) {
            peer_->core().on_failure(w.failure);
            break;
        }
        write_blocked_ = w.bytes < bytes.size();
        on_written(w.bytes, now);
        peer_->core().on_drained();
    }
    byte_stream_sink::flush(now);
    if (!closed_) update_pause();
}

// A connection that is closing is read on, so that its end is noticed.
void connection_io::update_pause() {
    bool pause = wants_pause() && peer_->core().wants_input();
    if (pause == reading_paused_) return;
    reading_paused_ = pause;
    if (pause) {
        wire_->pause();
    } else {
        wire_->resume();
    }
}

void connection_io::close() noexcept {
    closed_ = true;
    wire_->close();
}

}  // namespace keel::rpc
