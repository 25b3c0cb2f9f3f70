#pragma once

// A peer over a connection: reads lines and writes the queue of a byte_stream_sink.

#include "rpc/byte_stream_sink.hpp"
#include "rpc/line_framer.hpp"
#include "rpc/peer.hpp"

#include <keel/connection.hpp>

#include <memory>

namespace keel::inline KEEL_ABI::rpc {

/// Creates a peer that owns its connection.
std::shared_ptr<peer> make_connection_peer(std::shared_ptr<loop> on, std::unique_ptr<connection> wire, role r,
                                           const limits& bounds, std::shared_ptr<flight_budget> budget,
                                           peer_user& user);

/// The I/O of one connection. Exceptions of the connection leave its functions and end the peer (peer::run_turn).
class connection_io final : public byte_stream_sink, private connection::listener, private input_holder {
public:
    connection_io(std::unique_ptr<connection> wire, role r, const limits& bounds,
                  async::spare_buffers* spares = nullptr);
    ~connection_io() override = default;

    /// The peer whose messages are written here; it must outlive this object's use. Before start.
    void attach(peer& p) noexcept { peer_ = &p; }

    // message_sink
    void flush(time_point now) override;
    void start() override { wire_->start(*this); }
    void close() noexcept override;

private:
    // connection::listener
    void on_input(std::string_view bytes) override;
    std::span<char> input_room() override { return framer_.room(); }
    void on_input_end() override;
    void on_failure(std::string_view cause) override;
    void on_writable() override;

    // input_holder
    void release_input() override { framer_.release_line(); }

    void update_pause();

    peer* peer_ = nullptr;
    const std::unique_ptr<connection> wire_;
    line_framer framer_;
    bool write_blocked_ = false;  // until on_writable
    bool reading_paused_ = false;
    bool closed_ = false;
};

}  // namespace keel::rpc
