#include "http/http_server_core.hpp"

#include <keel/http_server.hpp>

#include <mutex>
#include <stdexcept>

namespace keel::inline KEEL_ABI {

struct http_server::impl {
    impl(server& s, http_options o)
        : work(std::make_shared<http::http_server_core>(server_access::of(s), std::move(o))) {}

    /// At most once: an http_server cannot be restarted. After a failed start, start may be called again.
    template <class F>
    void begin(F open) {
        std::lock_guard lock(mutex);
        if (begun) throw std::logic_error("keel: http_server::start must not be called twice");
        work->server->begin_serving();
        open();
        begun = true;
    }

    void check_mounted() const {
        if (!work->options.allow_hosts.empty()) return;
        throw std::invalid_argument(
            "keel: http_server::start_mounted: set http_options::allow_hosts to the host names of the program's HTTP "
            "server, or to \"*\" if it checks the Host header itself (DNS rebinding)");
    }

    std::shared_ptr<http::http_server_core> work;
    std::mutex mutex;
    bool begun = false;
};

http_server::http_server(server& s, http_options options) : impl_(std::make_shared<impl>(s, std::move(options))) {}

http_server::~http_server() {
    impl_->work->stop({});
    // Cannot wait in a handler or for the caller's loop; workers that are left keep the core alive.
    if (impl_->work->in_own_thread() || !impl_->work->wait_for_own()) return;
    impl_->work->join();
}

void http_server::start(const std::string& address) {
    impl_->begin([&] { impl_->work->open_in_background(address, impl_->work->wanted_workers()); });
}

void http_server::start(const std::string& address, std::shared_ptr<loop> on) {
    impl_->begin([&] { impl_->work->open(address, std::move(on), impl_->work->wanted_workers()); });
}

void http_server::start_mounted() {
    impl_->check_mounted();
    impl_->begin([&] { impl_->work->open_mounted_in_background(impl_->work->wanted_workers()); });
}

void http_server::start_mounted(std::shared_ptr<loop> on) {
    impl_->check_mounted();
    impl_->begin([&] { impl_->work->open_mounted(std::move(on), impl_->work->wanted_workers()); });
}

std::shared_ptr<mounted_call> http_server::handle(const mounted_request& r, std::shared_ptr<mounted_response> to) {
    return impl_->work->handle(r, std::move(to));
}

std::string http_server::monitor_url() const { return impl_->work->monitor_url(); }

std::string http_server::url() const { return impl_->work->url(); }

void http_server::set_ready(bool on) { impl_->work->ready = on; }

void http_server::request_stop(duration drain) { impl_->work->stop_after_notice(drain); }

void http_server::stop(duration drain) {
    if (impl_->work->in_own_thread() || impl_->work->server->in_handler()) {
        throw std::logic_error("keel: http_server::stop must not be called in a handler (it would wait for itself)");
    }
    impl_->work->stop_after_notice(drain);
    impl_->work->wait();
}

void http_server::reload_certificate() {
    if (impl_->work->tls) impl_->work->tls->reload();
}

}  // namespace keel
