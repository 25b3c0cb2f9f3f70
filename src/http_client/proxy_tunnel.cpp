#include "http_client/proxy_tunnel.hpp"

#include <utility>

namespace keel::inline KEEL_ABI::http_client {

proxy_tunnel::proxy_tunnel(std::unique_ptr<connection> raw, std::string request, std::size_t max_head, opened done)
    : raw_(std::move(raw)), request_(std::move(request)), reader_(max_head), done_(std::move(done)) {
    reader_.start(response_reader::request_kind::connect);
}

std::string proxy_tunnel::open() {
    raw_->start(*this);
    return write_request();
}

std::string proxy_tunnel::write_request() {
    if (written_ == request_.size()) return {};
    written w = raw_->write(std::string_view(request_).substr(written_));
    written_ += w.bytes;
    return std::move(w.failure);
}

void proxy_tunnel::close() noexcept {
    done_ = nullptr;
    user_ = nullptr;
    raw_->close();
}

// The callback may destroy this object.
void proxy_tunnel::tell(std::string failure) {
    if (opened told = std::exchange(done_, nullptr)) told(std::move(failure));
}

void proxy_tunnel::on_input(std::string_view bytes) {
    if (!done_) {
        if (user_) user_->on_input(bytes);
        return;
    }
    while (true) {
        switch (reader_.next(bytes)) {
            case response_reader::event::more: return;
            case response_reader::event::bad:
                return tell(std::string("invalid response from the proxy: ") + reader_.why());
            case response_reader::event::head:
                if (reader_.status() == 407)
                    return tell("the proxy requires authentication (407): set user and password in the proxy URL");
                if (reader_.status() >= 300)
                    return tell("the proxy refused the connection with status " + std::to_string(reader_.status()));
                break;
            case response_reader::event::body: break;  // a CONNECT response has no body
            case response_reader::event::end:
                // In TLS the client speaks first, so data at this point is not from the server.
                return tell(bytes.empty() && written_ == request_.size() ? "" : "unexpected data from the proxy");
        }
    }
}

void proxy_tunnel::on_input_end() {
    if (!done_) {
        if (user_) user_->on_input_end();
        return;
    }
    tell("the proxy closed the connection");
}

void proxy_tunnel::on_failure(std::string_view cause) {
    if (!done_) {
        if (user_) user_->on_failure(cause);
        return;
    }
    tell("the connection to the proxy failed: " + std::string(cause));
}

void proxy_tunnel::on_writable() {
    if (!done_) {
        if (user_) user_->on_writable();
        return;
    }
    if (std::string failure = write_request(); !failure.empty()) tell(std::move(failure));
}

}  // namespace keel::http_client
