#include "program/passed_sockets.hpp"

#include "program/command_line.hpp"
#include "transport/listen_address.hpp"

#include <algorithm>
#include <stdexcept>

namespace keel::inline KEEL_ABI::program {

namespace {

class socket_choice {
public:
    socket_choice(const command_line& line, const std::vector<transport::passed_socket>& passed) : passed_(passed) {
        for (const std::string& each : line.http_addresses) note(each);
        for (const endpoint& each : line.serving.endpoints) note(each.address);
        note(line.http.monitor_address);
    }

    bool needed() const { return wanted_ > 0; }

    /// The addresses that replace `address`, which is of the form "systemd" or "systemd:NAME".
    std::vector<std::string> sockets_for(const char* option, const std::string& address) {
        std::string_view name = *socket_name(address);
        std::vector<std::string> out;
        for (const transport::passed_socket& each : passed_) {
            bool named = std::find(names_.begin(), names_.end(), each.name) != names_.end();
            if (name.empty() ? named : each.name != name) continue;
            transport::address_of_listener(each.descriptor);  // throws if it is something else
            out.push_back("fd:" + std::to_string(each.descriptor));
        }
        if (out.empty()) {
            throw std::invalid_argument(std::string(option) + " " + address +
                                        ": the service manager has passed no such socket (LISTEN_FDS)");
        }
        used_ += out.size();
        return out;
    }

    void finish() const {
        if (used_ > passed_.size()) throw std::invalid_argument("a socket of systemd is used by two options");
        if (used_ < passed_.size())
            throw std::invalid_argument("no option uses one of the sockets that systemd passes");
    }

private:
    void note(const std::string& address) {
        auto name = socket_name(address);
        if (!name) return;
        ++wanted_;
        if (!name->empty()) names_.emplace_back(*name);
    }

    const std::vector<transport::passed_socket>& passed_;
    std::vector<std::string> names_;
    std::size_t wanted_ = 0;
    std::size_t used_ = 0;
};

void replace(command_line& line, socket_choice& choice) {
    std::vector<std::string> addresses;
    for (const std::string& each : line.http_addresses) {
        if (!socket_name(each)) {
            addresses.push_back(each);
            continue;
        }
        for (std::string& found : choice.sockets_for("--http", each)) addresses.push_back(std::move(found));
    }
    line.http_addresses = std::move(addresses);

    std::vector<endpoint> endpoints;
    for (const endpoint& each : line.serving.endpoints) {
        if (!socket_name(each.address)) {
            endpoints.push_back(each);
            continue;
        }
        for (std::string& found : choice.sockets_for("--tcp", each.address)) {
            endpoints.push_back(endpoint::tcp(std::move(found)));
        }
    }
    line.serving.endpoints = std::move(endpoints);

    if (socket_name(line.http.monitor_address)) {
        auto found = choice.sockets_for("--monitor", line.http.monitor_address);
        if (found.size() > 1) throw std::invalid_argument("--monitor: systemd passes more than one such socket");
        line.http.monitor_address = std::move(found[0]);
    }
    choice.finish();
    for (const std::string& each : line.http_addresses) {
        if (line.http.allow_hosts.empty() && !transport::listen_address::parse(each).is_local()) {
            throw std::invalid_argument(
                "--http systemd: the socket is reachable from other machines: add --allow-host NAME");
        }
    }
}

}  // namespace

std::optional<std::string_view> socket_name(std::string_view address) {
    constexpr std::string_view prefix = "systemd";
    if (!address.starts_with(prefix)) return std::nullopt;
    address.remove_prefix(prefix.size());
    if (address.empty()) return address;
    if (address.size() < 2 || address[0] != ':') return std::nullopt;
    address.remove_prefix(1);
    // A host that is called systemd, and a port.
    if (address.find_first_not_of("0123456789") == std::string_view::npos) return std::nullopt;
    return address;
}

std::string use_passed_sockets(command_line& line, const std::vector<transport::passed_socket>& passed) {
    socket_choice choice(line, passed);
    if (!choice.needed()) return {};
    try {
        replace(line, choice);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return {};
}

std::string use_passed_sockets(command_line& line) {
    try {
        return use_passed_sockets(line, transport::take_passed_sockets());
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
}

}  // namespace keel::program
