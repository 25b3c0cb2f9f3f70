// A client's connection: what differs from the server's side, which tls_connection_test and tls_ends_test cover.

#include "tls_peers.hpp"

#include <keel/transport.hpp>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>

using namespace keel;
using namespace keel::test;
using tls::tls_connection;

namespace {

/// Carries bytes in both directions, but at most `bytes` of the server's. The rest of the server's bytes is lost.
std::size_t carry(client_conversation& c, std::size_t bytes) {
    std::size_t carried = 0;
    for (bool moved = true; moved;) {
        c.deliver();
        std::string out = c.server->take_output();
        moved = !out.empty();
        out.resize(std::min(out.size(), bytes - carried));
        carried += out.size();
        if (!out.empty()) c.wire->feed(std::move(out));
    }
    return carried;
}

}  // namespace

TEST_CASE("a client and its server exchange data and close_notify") {
    for (int version : versions) {
        client_conversation c({.version = version});
        CHECK(c.wire->writes() == 0);  // nothing is sent inside start
        CHECK(c.client->describe() == "tls script");
        c.shake_hands();
        CHECK(c.heard.reads + c.heard.writables == 0);  // session tickets are not input
        CHECK(c.client->write("question").bytes == 8);
        c.exchange();
        CHECK(c.server->input == "question");
        c.server->send("answer");
        c.exchange();
        CHECK(c.heard.input == "answer");
        c.server->end();
        c.exchange();
        CHECK(c.heard.ended);
        CHECK(c.client->write("last words").bytes == 10);
        c.client->close();
        c.deliver();
        CHECK(c.server->input == "questionlast words");
        CHECK(c.server->ended);
        CHECK(c.server->error.empty());
        CHECK(c.wire->closed());
        CHECK(c.heard.failures == 0);
    }
}

TEST_CASE("a Keel client and a Keel server talk over a memory pair") {
    manual_loop loop;
    auto [here, there] = memory_pair(loop, loop);
    tls_connection client(loop, std::move(here), common_trust().new_session("localhost"));
    tls_connection server(loop, std::move(there), common_context());
    recorder at_client;
    recorder at_server;
    std::string said = numbers(1'000'000);
    std::size_t sent = 0;
    at_client.when_writable = [&] { sent += client.write(std::string_view(said).substr(sent)).bytes; };
    CHECK(client.write(said).bytes == 0);  // even before start: on_writable follows
    client.start(at_client);
    server.start(at_server);
    loop.run();
    CHECK(at_server.input == said);
    CHECK(at_client.writables > 1);
    client.close();
    loop.run();
    CHECK(at_server.ended);
    CHECK(at_client.failures + at_server.failures == 0);
}

TEST_CASE("before the handshake a client's write accepts nothing; on_writable follows once") {
    for (int version : versions) {
        client_conversation c({.version = version});
        CHECK(c.client->write("early").bytes == 0);
        CHECK(c.client->write("early").failure.empty());
        c.heard.when_writable = [&] {
            CHECK(c.client->handshaken());
            CHECK(c.client->write("at last").bytes == 7);
        };
        c.shake_hands();
        CHECK(c.heard.writables == 1);
        CHECK(c.server->input == "at last");
    }
}

TEST_CASE("a paused client does not start the handshake; after resume it does, once") {
    client_conversation c;
    c.client->pause();
    c.loop->run();
    CHECK(c.wire->writes() == 0);
    c.client->resume();
    CHECK(c.wire->writes() == 0);  // not inside resume
    c.client->pause();
    c.client->resume();
    c.loop->run();
    CHECK(c.wire->writes() == 1);
    c.client->pause();  // during the handshake
    c.exchange();
    CHECK_FALSE(c.client->handshaken());
    c.client->resume();
    c.shake_hands();
    CHECK(c.wire->writes() == 2);
}

TEST_CASE("the server's bytes may be split at any byte, even with a HelloRetryRequest") {
    struct sample {
        int version;
        const char* groups;
        std::size_t until;
    };
    for (auto [version, groups, until] : {sample{TLS1_2_VERSION, "", 10'000}, sample{TLS1_3_VERSION, "", 10'000},
                                          sample{TLS1_3_VERSION, "P-256", 250}}) {
        std::size_t cut = 0;
        for (std::size_t total = 1; cut < std::min(total, until); ++cut) {
            client_conversation c({.version = version, .groups = groups});
            total = 0;
            auto exchange = [&] {
                for (bool moved = true; moved;) {
                    c.deliver();
                    std::string out = c.server->take_output();
                    moved = !out.empty();
                    std::size_t at = cut > total ? std::min(cut - total, out.size()) : 0;
                    total += out.size();
                    c.wire->feed(out.substr(0, at));
                    c.loop->run();
                    c.wire->feed(out.substr(at));
                }
            };
            exchange();
            c.server->send("hello");
            exchange();
            c.server->end();
            exchange();
            if (c.heard.input != "hello" || !c.heard.ended || c.heard.failures != 0) {
                FAIL("cut at " << cut << ": " << c.heard.input << c.heard.failure);
            }
        }
        CHECK(cut >= std::min<std::size_t>(until, 600));
    }
}

TEST_CASE("the server's bytes may arrive one at a time") {
    for (int version : versions) {
        client_conversation c({.version = version});
        c.server->take_output();
        auto dribble = [&] {
            for (bool moved = true; moved;) {
                c.loop->run();
                std::string out = c.wire->take_output();
                for (char byte : out) c.server->feed(std::string_view(&byte, 1));
                std::string back = c.server->take_output();
                for (char byte : back) {
                    c.wire->feed(std::string(1, byte));
                    c.loop->run();
                }
                moved = !out.empty() || !back.empty();
            }
        };
        dribble();
        REQUIRE(c.client->handshaken());
        std::string said = numbers(20'000);
        c.server->send(said);
        dribble();
        CHECK(c.heard.input == said);
        CHECK(c.heard.failures == 0);
    }
}

TEST_CASE("C1: an end of input at any byte is a failure during the handshake and the end of input afterwards") {
    for (int version : versions) {
        std::size_t failures = 0;
        std::size_t ends = 0;
        for (std::size_t bytes = 0;; ++bytes) {
            client_conversation c({.version = version});
            std::size_t carried = carry(c, bytes);
            bool shaken = c.client->handshaken();
            if (c.server->handshaken) c.server->send("hello");
            carry(c, bytes - carried);
            c.wire->eof();
            c.loop->run();
            std::string expected = shaken ? "" : "the peer closed the connection during the TLS handshake";
            if (c.heard.failure != expected || c.heard.failures != (shaken ? 0u : 1u) || c.heard.ended != shaken) {
                FAIL("after " << bytes << ": " << c.heard.failure << ", told " << c.heard.failures << " times");
            }
            ++(shaken ? ends : failures);
            if (c.heard.input == "hello") break;
            if (!c.heard.input.empty()) FAIL("after " << bytes << ": " << c.heard.input);
        }
        CHECK(failures > 500);
        CHECK(ends > 20);
    }
}

TEST_CASE("C7: a connection that breaks at any byte of the handshake gives one failure, with the transport's reason") {
    for (bool reading : {true, false}) {
        for (int version : versions) {
            std::size_t bytes = 0;
            for (bool passed = false; !passed; ++bytes) {
                client_conversation c({.version = version});
                carry(c, bytes);
                passed = c.client->handshaken();
                if (reading) {
                    c.wire->fail_read(ECONNRESET);
                } else {
                    c.wire->hangup();
                }
                c.wire->eof();
                c.loop->run();
                if (c.heard.failures != 1 || c.heard.ended ||
                    c.heard.failure != (reading ? "Connection reset by peer" : "the peer closed the connection")) {
                    FAIL("after " << bytes << ": " << c.heard.failure);
                }
                CHECK_FALSE(c.client->write("x").failure.empty());
            }
            CHECK(bytes > 500);
        }
    }
}

TEST_CASE("C5: a client's write error after 0, 1, 2, … bytes is reported once") {
    for (int version : versions) {
        std::size_t after = 0;
        for (bool passed = false; !passed; ++after) {
            client_conversation c({.version = version});
            c.wire->fail_write_after(after, EPIPE);
            c.exchange();
            std::string told;
            if (c.client->handshaken() && c.heard.failures == 0) {
                told = c.client->write("question").failure;
                c.exchange();
            }
            passed = c.server->input == "question";
            bool once = (told.empty() ? 0u : 1u) + c.heard.failures == (passed ? 0u : 1u);
            std::string cause = told + c.heard.failure;
            if (!once || (!passed && cause != "Broken pipe")) {
                FAIL("after " << after << ": " << cause << ", told " << c.heard.failures << " times");
            }
        }
        CHECK(after > 250);
    }
}

TEST_CASE("a transport that accepts a few bytes at a time only delays a client's handshake") {
    for (int version : versions) {
        client_conversation c({.version = version});
        c.wire->stall();
        c.exchange();
        CHECK(c.wire->bytes_taken() == 0);
        for (int i = 0; i < 2000 && !c.server->handshaken; ++i) {
            c.wire->accept(1);
            c.exchange();
        }
        c.wire->resume();
        c.shake_hands();
        CHECK(c.client->write("hello").bytes == 5);
        c.exchange();
        CHECK(c.server->input == "hello");
        CHECK(c.heard.failures == 0);
    }
}

TEST_CASE("closing a client while it waits for the server, at any stage, reports and leaks nothing") {
    for (bool destroy : {true, false}) {
        for (std::size_t bytes : {0u, 1u, 5u, 100u, 300u}) {
            client_conversation c;
            carry(c, bytes);
            CHECK(c.heard.failures + c.heard.reads + c.heard.writables == 0);
            CHECK_FALSE(c.client->handshaken());
            CHECK(c.loop->timers() == 0);
            c.wire->feed("under way when it is closed");
            if (destroy) {
                c.client.reset();
            } else {
                c.client->close();
                c.client->resume();
            }
            c.loop->run();
            CHECK(c.wire->closed());
            CHECK(c.heard.failures + c.heard.reads == 0);
            CHECK(c.loop->timers() == 0);
        }
        client_conversation c;  // before its first turn
        if (destroy) {
            c.client.reset();
        } else {
            c.client->close();
        }
        c.loop->run();
        CHECK(c.wire->bytes_taken() == 0);
        CHECK(c.wire->closed());
    }
}

TEST_CASE("input that is not a ServerHello gives an error, and no HTTP response") {
    auto outcome = [](std::string bytes, bool before_hello) {
        client_conversation c;
        if (!before_hello) c.deliver();
        c.wire->feed(std::move(bytes));
        c.loop->run();
        CHECK(c.heard.failures == 1);
        CHECK(c.heard.failure.starts_with("the TLS handshake failed: "));
        CHECK_FALSE(c.heard.failure.ends_with("unknown error"));
        CHECK_FALSE(c.client->write("x").failure.empty());
        CHECK(c.wire->take_output().find("HTTP") == std::string::npos);
        c.wire->feed("and more of it");
        c.wire->eof();
        c.loop->run();
        CHECK(c.heard.failures == 1);
        CHECK_FALSE(c.heard.ended);
        c.client->close();
        CHECK(c.wire->closed());
        return c.heard.failure;
    };
    for (bool early : {true, false}) {
        CHECK(outcome("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", early) ==
              "the TLS handshake failed: wrong version number (is this a TLS port?)");
        outcome("GET / HTTP/1.1\r\nHost: x\r\n\r\n", early);
        outcome("CONNECT x:1 HTTP/1.1\r\n\r\n", early);
        outcome("SSH-2.0-OpenSSH_9.2\r\n", early);
        outcome(std::string(1000, '\0'), early);
        outcome(std::string(1000, '\xff'), early);
        outcome(std::string("\x16\x03\x03\xff\xff", 5) + std::string(70'000, 'x'), early);
        outcome(std::string("\x17\x03\x03\x00\x05hello", 10), early);
        outcome(std::string("\x15\x03\x03\x00\x02\x02\x28", 7), early);
        outcome(std::string("\x14\x03\x03\x00\x01\x01\x14\x03\x03\x00\x01\x01", 12), early);
        outcome(tls_client().take_output(), early);  // a ClientHello, as from another client
    }
}

TEST_CASE("one changed byte anywhere in the handshake gives one failure") {
    for (int version : versions) {
        std::size_t harmless = 0;
        std::size_t at = 0;
        for (std::size_t total = 1; at < total; ++at) {
            client_conversation c({.version = version});
            total = 0;
            bool bent = false;
            while (!c.client->handshaken() && c.heard.failures == 0) {
                c.deliver();
                std::string out = c.server->take_output();
                if (out.empty()) c.wire->eof();
                if (at >= total && at - total < out.size()) {
                    bent = true;  // otherwise the signature of this certificate was one byte shorter
                    out[at - total] = static_cast<char>(out[at - total] ^ 0x01);
                }
                total += out.size();
                if (!out.empty()) c.wire->feed(std::move(out));
                c.loop->run();
            }
            if (bent && c.client->handshaken()) ++harmless;
            if (c.heard.failures != (c.client->handshaken() ? 0u : 1u) || c.heard.ended) FAIL("bent at " << at);
        }
        CHECK(at > 500);
        CHECK(harmless <= 1);  // the minor version in the header of the first record, which is ignored
    }
}

TEST_CASE("session tickets and key updates during a conversation are not input, and do not grow memory") {
    client_conversation c({.version = TLS1_3_VERSION});
    c.shake_hands();
    std::size_t before = 0;
    for (int i = 0; i < 300; ++i) {
        if (i % 3 == 0) {
            REQUIRE(SSL_key_update(c.server->session(), SSL_KEY_UPDATE_REQUESTED) == 1);
        } else {
            REQUIRE(SSL_new_session_ticket(c.server->session()) == 1);
        }
        c.server->send("a");
        c.exchange();
        CHECK(c.client->write("b").bytes == 1);
        c.exchange();
        if (i == 10) before = openssl_bytes();
    }
    CHECK(openssl_bytes() == before);
    CHECK(c.heard.input == std::string(300, 'a'));
    CHECK(c.server->input == std::string(300, 'b'));
    CHECK(c.heard.failures == 0);
    CHECK(c.server->error.empty());
}

TEST_CASE("a server's renegotiation request is refused, and the conversation continues") {
    client_conversation c({.version = TLS1_2_VERSION});
    c.shake_hands();
    REQUIRE(SSL_renegotiate(c.server->session()) == 1);
    SSL_do_handshake(c.server->session());  // sends the request
    std::string wish = c.server->take_output();
    REQUIRE_FALSE(wish.empty());
    c.wire->feed(wish);
    c.loop->run();
    CHECK(c.heard.failures == 0);
    std::string answer = c.wire->take_output();
    REQUIRE(answer.size() > 5);
    CHECK(answer[0] == 21);  // an alert
    CHECK(c.client->write("going on").bytes == 8);
    CHECK_FALSE(c.wire->take_output().empty());
}

TEST_CASE("a client's connection may be closed or destroyed inside any call to its listener") {
    for (bool destroy : {true, false}) {
        auto leave = [&](client_conversation& c) {
            return [&] {
                if (destroy) {
                    c.client.reset();
                } else {
                    c.client->close();
                }
            };
        };
        {
            client_conversation c;
            c.client->write("early");
            c.heard.when_writable = leave(c);
            c.exchange();
            CHECK(c.heard.writables == 1);
            CHECK(c.server->ended);
        }
        {
            client_conversation c;
            c.wire->fail_write_after(0, EPIPE);  // in its first turn
            c.heard.when_failed = leave(c);
            c.loop->run();
            CHECK(c.heard.failures == 1);
            CHECK(c.wire->closed());
        }
        {
            client_conversation c({}, common_trust(), "other.example");
            c.heard.when_failed = leave(c);
            c.exchange();
            CHECK(c.heard.failures == 1);
            CHECK(c.server->error.find("alert bad certificate") != std::string::npos);
            CHECK(c.wire->closed());
        }
    }
}

TEST_CASE("an idle client connection is small and leaks nothing, whether the server is trusted or not") {
    for (int version : versions) {
        for (const char* host : {"localhost", "other.example"}) {
            bool trusted = std::string_view(host) == "localhost";
            auto idle = [&] {
                auto c =
                    std::make_unique<client_conversation>(tls_server_options{.version = version}, common_trust(), host);
                c->exchange();
                CHECK(c->client->handshaken() == trusted);
                if (trusted) {
                    CHECK(c->client->write(numbers(50'000)).bytes == 50'000);
                    c->exchange();
                    c->server->send(numbers(50'000));
                    c->exchange();
                }
                c->server.reset();
                return c;
            };
            idle();  // one-time allocations
            std::size_t before = openssl_bytes();
            {
                auto c = idle();
                if (trusted) CHECK(openssl_bytes() - before < 20 * 1024);
            }
            CHECK(openssl_bytes() == before);
        }
    }
}
