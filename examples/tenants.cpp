// self-test
// One program, several tenants: each user has a server of their own, with their own notes. To show that it works, two users write
// and read notes over HTTP.

#include <keel/blocking_client.hpp>
#include <keel/http_server.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

struct note_args {
    std::string text;
};
KEEL_DESCRIBE(note_args, text)

/// Reads "Bearer ann". (A real program verifies a token.)
static std::optional<std::string> user_of(std::optional<std::string_view> authorization) {
    if (!authorization || !authorization->starts_with("Bearer ")) return std::nullopt;  // 401
    return std::string(authorization->substr(7));
}

struct notes {
    std::mutex mutex;
    std::string text;
};

/// A server with its own notes.
static std::shared_ptr<keel::server> make_server(const std::string& user) {
    auto server = std::make_shared<keel::server>(keel::implementation{.name = "notes", .version = "1.0.0"});
    auto own = std::make_shared<notes>();
    server->add_tool("write", "Adds a note", [own](note_args in) {
        std::lock_guard lock(own->mutex);
        own->text += in.text + ";";
    });
    server->add_tool("read", "Reads the notes", [own, user] {
        std::lock_guard lock(own->mutex);
        return user + ": " + own->text;
    });
    return server;
}

static std::string write_and_read(const std::string& url, const std::string& user, const std::string& text) {
    keel::url target{.address = url, .headers = {{"Authorization", "Bearer " + user}}};
    keel::blocking_client client(target);
    client.connect();
    client.call_tool("write", note_args{.text = text});
    return client.call_tool<std::string>("read");
}

int main() {
    try {
        keel::server server({.name = "notes", .version = "1.0.0"});
        keel::http_options options;
        options.identify = [](const keel::http_request& r) { return user_of(r.header("Authorization")); };
        options.server_for = [](const keel::server_request& r) { return make_server(r.principal); };
        server.start(keel::endpoint::http("127.0.0.1:0", options));

        std::string first = write_and_read(server.address(), "ann", "milk");
        std::string second = write_and_read(server.address(), "bob", "bread");
        std::string third = write_and_read(server.address(), "ann", "tea");
        std::printf("%s\n%s\n%s\n", first.c_str(), second.c_str(), third.c_str());
        server.stop();
        return first == "ann: milk;" && second == "bob: bread;" && third == "ann: milk;tea;" ? 0 : 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "tenants: %s\n", e.what());
        return 1;
    }
}
