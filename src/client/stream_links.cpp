// Links over byte streams: child processes, sockets, and a server in this process.

#include "async/timeout.hpp"
#include "client/link.hpp"
#include "rpc/connection_io.hpp"

#include <keel/async.hpp>
#include <keel/child_process.hpp>
#include <keel/server_target.hpp>
#include <keel/transport.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace keel::inline KEEL_ABI {

namespace client_side {

namespace {

class wire_link : public link {
public:
    explicit wire_link(std::unique_ptr<connection> wire) noexcept : wire_(std::move(wire)) {}

    std::shared_ptr<rpc::peer> open(std::shared_ptr<loop> on, const limits& bounds, link_user& user) override {
        auto p = rpc::make_connection_peer(std::move(on), std::move(wire_), rpc::role::client, bounds, nullptr, user);
        p->start();
        return p;
    }

private:
    std::unique_ptr<connection> wire_;
};

// Time to read what an exited child has left in its pipe.
constexpr duration time_to_drain = std::chrono::milliseconds(100);

class unix_connector final : public connector {
public:
    explicit unix_connector(std::string path) noexcept : path_(std::move(path)) {}
    task<std::unique_ptr<link>> connect(std::shared_ptr<loop> on, link_settings) override {
        co_return std::make_unique<wire_link>(connect_unix(*on, path_));
    }
    std::string describe() const override { return "unix " + path_; }
    std::string identity() const override { return describe(); }

private:
    const std::string path_;
};

class tcp_connector final : public connector {
public:
    explicit tcp_connector(std::string_view address) : to_(tcp_address::parse(address)) {}
    task<std::unique_ptr<link>> connect(std::shared_ptr<loop> on, link_settings) override {
        tcp_address to = to_;
        std::unique_ptr<connection> wire = co_await connect_tcp(*on, std::move(to));
        co_return std::make_unique<wire_link>(std::move(wire));
    }
    std::string describe() const override { return "tcp " + to_.text(); }
    std::string identity() const override { return describe(); }

private:
    const tcp_address to_;
};

class child_link final : public wire_link {
public:
    /// The state of the child process, shared with the exit callback, which may outlive the link.
    struct fate {
        event ended;
        std::optional<child_end> how;
        std::weak_ptr<rpc::peer> peer;

        /// A grandchild may keep the pipes open. The connection ends with the child process nevertheless.
        void end_peer_soon() {
            auto p = peer.lock();
            if (!p || p->closed()) return;
            start_timer_after(p->loop(), time_to_drain, [weak = peer] {
                if (auto held = weak.lock(); held && !held->closed()) held->fail("the process has exited");
            });
        }
    };
    child_link(std::unique_ptr<connection> wire, std::shared_ptr<fate> f, std::string command) noexcept
        : wire_link(std::move(wire)), fate_(std::move(f)), command_(std::move(command)) {}

    std::shared_ptr<rpc::peer> open(std::shared_ptr<loop> on, const limits& bounds, link_user& user) override {
        auto p = wire_link::open(std::move(on), bounds, user);
        fate_->peer = p;
        if (fate_->how) fate_->end_peer_soon();
        return p;
    }
    std::string exit_description() const override {
        if (!fate_->how) return {};
        std::string text = command_ + " " + fate_->how->text();
        if (std::string_view last = fate_->how->stderr_tail; !last.empty()) {
            constexpr std::size_t most = 1000;
            while (!last.empty() && (last.back() == '\n' || last.back() == '\r')) last.remove_suffix(1);
            if (last.size() > most) last.remove_prefix(last.size() - most);
            text += "; stderr: " + rpc::printable(last, most);
        }
        return text;
    }
    task<void> ended() override {
        auto keep = fate_;
        co_await keep->ended;
    }

private:
    std::shared_ptr<fate> fate_;
    std::string command_;
};

class child_connector final : public connector {
public:
    explicit child_connector(child_process what) noexcept : what_(std::move(what)) {}
    task<std::unique_ptr<link>> connect(std::shared_ptr<loop> on, link_settings how) override {
        auto fate = std::make_shared<child_link::fate>();
        child_options options;
        options.limits = how.limits;
        options.on_stderr = std::move(how.on_stderr);
        options.on_end = [fate](const child_end& end) {
            fate->how = end;
            fate->ended.set();
            fate->end_peer_soon();
        };
        started_child child = start_child(*on, what_, std::move(options));
        co_return std::make_unique<child_link>(std::move(child.wire), std::move(fate), what_.command);
    }
    bool starts_process() const noexcept override { return true; }
    std::string describe() const override {
        std::string text = what_.command;
        for (const std::string& each : what_.arguments) text += " " + each;
        return text;
    }
    /// Command, arguments, directory and environment. The environment may contain secrets, so only its hash is included.
    std::string identity() const override {
        std::string text = "child";
        auto add = [&](std::string_view part) {
            text += ' ';
            if (!json::write_string(text, part)) text.append("'").append(part).append("'");
        };
        add(what_.command);
        for (const std::string& each : what_.arguments) add(each);
        if (!what_.directory.empty()) {
            text += " in";
            add(what_.directory);
        }
        if (what_.inherit_environment) text += " with all variables";
        if (what_.environment.empty()) return text;
        std::uint64_t sum = 14695981039346656037u;  // FNV-1a: stable across runs
        auto mix = [&](std::string_view part) {
            for (char c : part) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211u;
            sum = (sum ^ 0x100u) * 1099511628211u;  // not a byte value: separates the parts
        };
        for (const auto& [name, value] : what_.environment) {
            mix(name);
            mix(value);
        }
        return text + " with environment " + std::to_string(sum);
    }

private:
    const child_process what_;
};

// A server in this process runs on the same loop: the link waits for its cleanup, which would be lost if the loop ended first.
class served_link final : public wire_link {
public:
    served_link(std::unique_ptr<connection> wire, std::shared_ptr<event> end, duration bound) noexcept
        : wire_link(std::move(wire)), end_(std::move(end)), bound_(bound) {}

    task<void> ended() override {
        auto wait = [](std::shared_ptr<event> end) -> task<void> { co_await *end; };
        co_await async::completes_within(bound_, wait(end_));
    }

private:
    std::shared_ptr<event> end_;  // of the server's session
    duration bound_;
};

class local_connector final : public connector {
public:
    explicit local_connector(detail::local_server s) noexcept : server_(std::move(s)) {}
    task<std::unique_ptr<link>> connect(std::shared_ptr<loop> on, link_settings how) override {
        auto [ours, theirs] = memory_pair(*on, *on);
        auto end = std::make_shared<event>();
        server_.serve(on, std::move(theirs), [end] { end->set(); });
        // The server has the same limits by default, so it ends first.
        duration grace = how.limits.cleanup_grace;
        duration last = how.limits.final_write;
        duration bound = grace > duration::max() - last ? duration::max() : grace + last;
        co_return std::make_unique<served_link>(std::move(ours), std::move(end), bound);
    }
    std::string describe() const override { return "in this process: " + server_.name; }
    /// With the address, because several servers may have the same name.
    std::string identity() const override {
        return describe() + " (" + std::to_string(reinterpret_cast<std::uintptr_t>(server_.address)) + ")";
    }

private:
    const detail::local_server server_;
};

}  // namespace

}  // namespace client_side

namespace detail {

url url_of_text(std::string_view text) {
    // The scheme is case-insensitive. The rest of the URL is checked when it is parsed.
    std::string_view scheme = text.substr(0, text.find("://"));
    auto is = [&](std::string_view name) {
        return std::equal(scheme.begin(), scheme.end(), name.begin(), name.end(),
                          [](char a, char b) { return (a | 0x20) == b; });
    };
    if (scheme.size() == text.size() || (!is("http") && !is("https"))) {
        throw std::invalid_argument("keel: \"" + rpc::printable(text, 200) +
                                    "\" does not begin with http:// or https://; a program to start is "
                                    "keel::child_process{.command = …}");
    }
    url where;
    where.address = text;
    return where;
}

}  // namespace detail

using namespace client_side;

server_target::server_target(child_process what) : connector_(std::make_shared<child_connector>(std::move(what))) {}
server_target::server_target(unix_socket at) : connector_(std::make_shared<unix_connector>(std::move(at.path))) {}
server_target::server_target(tcp at) : connector_(std::make_shared<tcp_connector>(at.address)) {}
server_target::server_target(detail::local_server s) : connector_(std::make_shared<local_connector>(std::move(s))) {}
std::string server_target::describe() const { return connector_->describe(); }
std::string server_target::identity() const { return connector_->identity(); }

}  // namespace keel
