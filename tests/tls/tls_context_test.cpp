#include "tls_peers.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/stat.h>

using namespace keel;
using namespace keel::test;
using tls::tls_context;
using tls::tls_files;

namespace {

void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string text_of(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string complaint(const tls_files& files) {
    try {
        tls_context refused(files);
    } catch (const std::runtime_error& e) {
        return e.what();
    }
    return "accepted";
}

/// Replaces a file by rename, so that it is never half-written.
void replace(const tls_files& old, const tls_files& fresh) {
    std::filesystem::rename(fresh.certificate_chain, old.certificate_chain);
    std::filesystem::rename(fresh.private_key, old.private_key);
}

std::string name_served(const tls_context& context) {
    conversation c({}, context);
    c.shake_hands();
    return c.client->server_name();
}

}  // namespace

TEST_CASE("a missing or invalid file gives an error that names it, with the reason") {
    scratch_folder folder;
    tls_files good = make_certificate(folder, "good");
    tls_files other = make_certificate(folder, "other");
    tls_files rsa = make_certificate(folder, "rsa", {.kind = "RSA"});
    std::string none = folder.file("none");
    std::string prose = folder.file("prose");
    write_file(prose, "This is not PEM.\n");

    CHECK(complaint(good) == "accepted");
    CHECK(complaint(rsa) == "accepted");
    CHECK(complaint({none, good.private_key}) ==
          "cannot read the certificate file " + none + ": No such file or directory");
    CHECK(complaint({good.certificate_chain, none}) ==
          "cannot read the private key file " + none + ": No such file or directory");
    CHECK(complaint({"/tmp", good.private_key}) == "cannot read the certificate file /tmp: Is a directory");
    CHECK(complaint({prose, good.private_key}) ==
          "the file " + prose + " contains no usable certificate chain: no start line");
    CHECK(complaint({good.certificate_chain, prose}).find(prose + " contains no usable private key: ") !=
          std::string::npos);
    CHECK(complaint({good.private_key, good.private_key}).find("contains no usable certificate chain") !=
          std::string::npos);
    auto stranger = [&](const tls_files& files, const std::string& reason) {
        CHECK(complaint({good.certificate_chain, files.private_key}) == "the private key in " + files.private_key +
                                                                            " does not match the certificate in " +
                                                                            good.certificate_chain + ": " + reason);
    };
    stranger(other, "key values mismatch");
    stranger(rsa, "different key types");
    write_file(prose, std::string(200 * 1024, 'x'));
    CHECK(complaint({prose, good.private_key}) ==
          "cannot read the certificate file " + prose + ": it is larger than 128 KiB");
}

TEST_CASE("a chain that is invalid after its first certificate is rejected; one file with chain and key is accepted") {
    scratch_folder folder;
    tls_files good = make_certificate(folder, "good");
    std::string certificate = text_of(good.certificate_chain);
    std::string both = folder.file("both");
    write_file(both, text_of(good.private_key) + certificate + certificate);
    CHECK(complaint({both, both}) == "accepted");
    std::string broken = folder.file("broken");
    write_file(broken, certificate + certificate.substr(0, certificate.size() / 2));
    CHECK(complaint({broken, good.private_key}).find("contains no usable certificate chain: ") != std::string::npos);
}

TEST_CASE("an encrypted private key is rejected without asking for a passphrase") {
    scratch_folder folder;
    tls_files good = make_certificate(folder, "good");
    std::string locked = folder.file("locked");
    REQUIRE(std::system(
                ("openssl pkcs8 -topk8 -passout pass:secret -in " + good.private_key + " -out " + locked).c_str()) ==
            0);
    CHECK(complaint({good.certificate_chain, locked}) ==
          "the file " + locked + " contains no usable private key: it is encrypted with a passphrase");
    CHECK(tls::take_reason() == "unknown error");
}

TEST_CASE("a key that is too short is rejected") {
    scratch_folder folder;
    tls_files weak = make_certificate(folder, "weak", {.kind = "RSA", .bits = 1024});
    CHECK(complaint(weak).find("ee key too small") != std::string::npos);
}

TEST_CASE("reloading: new connections get the new certificate, open ones keep theirs") {
    scratch_folder folder;
    tls_files files = make_certificate(folder, "first", {.name = "first"});
    std::optional<tls_context> context(std::in_place, files);
    conversation old({}, *context);
    old.shake_hands();
    conversation halfway({}, *context);
    CHECK_FALSE(context->changed_on_disk());
    CHECK_FALSE(context->reload_if_changed());

    replace(files, make_certificate(folder, "second", {.name = "second"}));
    CHECK(context->changed_on_disk());
    CHECK(name_served(*context) == "first");  // not before the reload
    CHECK(context->reload_if_changed());
    CHECK_FALSE(context->changed_on_disk());
    CHECK_FALSE(context->reload_if_changed());
    CHECK(name_served(*context) == "second");

    halfway.shake_hands();
    CHECK(halfway.client->server_name() == "first");
    context.reset();  // open connections do not need the context
    old.client->send("still there?");
    old.exchange();
    CHECK(old.heard.input == "still there?");
    CHECK(old.server->write("yes").bytes == 3);
    old.deliver();
    CHECK(old.client->input == "yes");
}

TEST_CASE("reloading: invalid files change nothing, and are reported once until they change") {
    scratch_folder folder;
    tls_files files = make_certificate(folder, "first", {.name = "first"});
    tls_files fresh = make_certificate(folder, "second", {.name = "second"});
    tls_context context(files);

    std::filesystem::rename(fresh.certificate_chain, files.certificate_chain);  // the key is replaced later
    CHECK_THROWS_AS(context.reload_if_changed(), std::runtime_error);
    CHECK_FALSE(context.changed_on_disk());
    CHECK_FALSE(context.reload_if_changed());
    CHECK_THROWS_AS(context.reload(), std::runtime_error);  // an explicit reload reports the error each time
    CHECK(name_served(context) == "first");

    std::filesystem::rename(fresh.private_key, files.private_key);
    CHECK(context.reload_if_changed());
    CHECK(name_served(context) == "second");

    std::filesystem::remove(files.private_key);
    CHECK_THROWS_AS(context.reload_if_changed(), std::system_error);
    CHECK_FALSE(context.reload_if_changed());
    CHECK(name_served(context) == "second");
}

TEST_CASE("reloading: a changed file with the same size and modification time is detected") {
    scratch_folder folder;
    tls_files files = make_certificate(folder, "first");
    tls_context context(files);
    struct stat s{};
    REQUIRE(::stat(files.private_key.c_str(), &s) == 0);
    write_file(files.private_key, text_of(files.private_key));
    timespec times[2] = {s.st_atim, s.st_mtim};
    REQUIRE(::utimensat(AT_FDCWD, files.private_key.c_str(), times, 0) == 0);
    CHECK(context.reload_if_changed());
}

TEST_CASE("several threads start connections while another one reloads") {
    scratch_folder folder;
    tls_files files = make_certificate(folder, "shared");
    tls_context context(files);
    std::atomic<bool> done = false;
    std::vector<std::thread> threads;
    std::atomic<int> served = 0;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            while (!done || served < 20) {
                conversation c({}, context);
                c.exchange();
                if (c.client->handshaken) ++served;
                if (!c.client->error.empty()) return;
            }
        });
    }
    for (int i = 0; i < 20; ++i) {
        context.reload();
        context.changed_on_disk();
    }
    done = true;
    for (std::thread& t : threads) t.join();
    CHECK(served >= 20);
}

TEST_CASE(
    "ALPN: http/1.1 is selected among others; a client that offers only others is refused, one that offers none is "
    "accepted") {
    auto chosen = [](const std::string& offered) -> std::string {
        conversation c({.protocols = offered});
        c.exchange();
        if (!c.server->handshaken()) return c.client->error + " / " + c.heard.failure;
        const unsigned char* name = nullptr;
        unsigned size = 0;
        SSL_get0_alpn_selected(c.client->session(), &name, &size);
        return {reinterpret_cast<const char*>(name), size};
    };
    CHECK(chosen("\x08http/1.1") == "http/1.1");
    CHECK(chosen("\x02h2\x08http/1.1") == "http/1.1");
    CHECK(chosen("\x08http/1.0\x08http/1.1\x02h2") == "http/1.1");
    CHECK(chosen("") == "");
    std::string refused = chosen("\x02h2");
    CHECK(refused.find("alert no application protocol / ") != std::string::npos);
    CHECK(refused.ends_with("the TLS handshake failed: no application protocol"));
}

TEST_CASE("TLS 1.2 and 1.3 are accepted, older versions are refused with an alert") {
    for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        conversation c({.version = version});
        c.shake_hands();
        CHECK(SSL_version(c.client->session()) == version);
    }
    for (int version : {TLS1_VERSION, TLS1_1_VERSION}) {
        conversation c({.version = version});
        c.exchange();
        CHECK_FALSE(c.server->handshaken());
        CHECK(c.heard.failures == 1);
        CHECK(c.heard.failure == "the TLS handshake failed: unsupported protocol");
        CHECK(c.client->error.find("alert protocol version") != std::string::npos);
    }
}

TEST_CASE("TLS 1.2: ciphers without forward secrecy or authenticated encryption are refused") {
    scratch_folder folder;
    tls_context context(make_certificate(folder, "rsa", {.kind = "RSA"}));
    auto outcome = [&](const char* ciphers) {
        conversation c({.version = TLS1_2_VERSION, .ciphers = ciphers}, context);
        c.exchange();
        return c.server->handshaken() ? std::string("spoken") : c.heard.failure;
    };
    CHECK(outcome("ECDHE-RSA-AES128-GCM-SHA256") == "spoken");
    CHECK(outcome("ECDHE-RSA-CHACHA20-POLY1305") == "spoken");
    for (const char* refused : {"AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA384", "AES128-SHA",
                                "DHE-RSA-AES128-SHA256"}) {
        CAPTURE(refused);
        CHECK(outcome(refused) == "the TLS handshake failed: no shared cipher");
    }
}
