#include "tls_peers.hpp"

#include <string>

using namespace keel;
using namespace keel::test;

TEST_CASE("both sides exchange data and close_notify") {
    for (int version : versions) {
        conversation c({.version = version});
        CHECK_FALSE(c.server->handshaken());
        CHECK(c.server->describe() == "tls script");
        c.shake_hands();
        CHECK(c.heard.reads == 0);
        CHECK(c.heard.writables == 0);
        c.client->send("question");
        c.exchange();
        CHECK(c.heard.input == "question");
        CHECK(c.server->write("answer").bytes == 6);
        CHECK(c.client->input.empty());
        c.exchange();
        CHECK(c.client->input == "answer");
        c.client->end();
        c.exchange();
        CHECK(c.heard.ended);
        CHECK(c.server->write("last words").bytes == 10);  // output still works after the end of input
        c.server->close();
        c.server->close();
        CHECK_FALSE(c.server->write("too late").failure.empty());
        c.deliver();
        CHECK(c.client->input == "answerlast words");
        CHECK(c.client->ended);
        CHECK(c.client->error.empty());
        CHECK(c.wire->closed());
        CHECK(c.heard.failures == 0);
    }
}

TEST_CASE("all bytes may arrive one at a time") {
    for (int version : versions) {
        conversation c({.version = version});
        auto dribble = [&] {
            for (bool moved = true; moved;) {
                std::string out = c.client->take_output();
                for (char byte : out) {
                    c.wire->feed(std::string(1, byte));
                    c.loop->run();
                }
                std::string back = c.wire->take_output();
                for (char byte : back) c.client->feed(std::string_view(&byte, 1));
                moved = !out.empty() || !back.empty();
            }
        };
        dribble();
        REQUIRE(c.server->handshaken());
        std::string said = numbers(40'000);
        c.client->send(said);
        dribble();
        CHECK(c.heard.input == said);
        c.client->end();
        dribble();
        CHECK(c.heard.ended);
        CHECK(c.heard.failures == 0);
    }
}

TEST_CASE("each flight of a client may be split at any byte") {
    for (int version : versions) {
        for (int flight = 0; flight < 3; ++flight) {
            std::size_t cut = 0;
            for (std::size_t size = 1; cut <= size; ++cut) {
                conversation c({.version = version});
                for (int i = 0; i < flight; ++i) {
                    c.wire->feed(c.client->take_output());
                    c.deliver();
                }
                if (flight > 0 && c.client->handshaken) c.client->send("hello");
                std::string out = c.client->take_output();
                size = out.size();
                c.wire->feed(out.substr(0, cut));
                c.deliver();
                c.wire->feed(out.substr(cut));
                c.exchange();
                if (flight == 0 || c.heard.input.empty()) c.client->send("hello");
                c.exchange();
                if (c.heard.input != "hello" || c.heard.failures != 0) {
                    FAIL("cut at " << cut << " of flight " << flight << ": " << c.heard.input << c.heard.failure);
                }
            }
            CHECK(cut > 1);
        }
    }
}

TEST_CASE("many records in one read are delivered one after another") {
    conversation c;
    c.shake_hands();
    std::string said = numbers(60'000);
    for (std::size_t at = 0; at < said.size(); at += 1000) c.client->send(said.substr(at, 1000));
    c.exchange();
    CHECK(c.heard.input == said);
}

TEST_CASE("before the handshake write accepts nothing, and on_writable follows") {
    for (int version : versions) {
        conversation c({.version = version});
        CHECK(c.server->write("early").bytes == 0);
        CHECK(c.server->write("early").failure.empty());
        c.heard.when_writable = [&] { CHECK(c.server->write("at last").bytes == 7); };
        c.shake_hands();
        CHECK(c.heard.writables == 1);
        c.exchange();
        CHECK(c.client->input == "at last");
        CHECK(c.server->write("").bytes == 0);
        c.exchange();
        CHECK(c.heard.writables == 1);
    }
}

TEST_CASE("J1: if the peer stops reading, write stops accepting, then continues without losing a byte") {
    conversation c;
    c.shake_hands();
    std::string all = numbers(1'000'000);
    std::size_t sent = 0;
    auto send = [&] {
        auto done = c.server->write(std::string_view(all).substr(sent));
        REQUIRE(done.failure.empty());
        sent += done.bytes;
    };
    c.heard.when_writable = send;
    c.wire->accept(1000);
    send();
    std::size_t first = sent;
    CHECK(first > 0);
    CHECK(first <= 96 * 1024);
    CHECK(c.server->write("not before on_writable").bytes == 0);
    c.wire->accept(20'000);  // there is room again, but not enough to continue
    c.deliver();
    CHECK(c.server->write("not before on_writable").bytes == 0);
    CHECK(c.heard.writables == 0);
    for (std::size_t room = 1; sent < all.size(); room = room % 30'000 + 777) {
        c.wire->accept(room);
        c.deliver();
        REQUIRE(sent <= c.client->input.size() + 96 * 1024);
    }
    c.wire->resume();
    c.deliver();
    CHECK(c.client->input == all);
    CHECK(c.client->error.empty());
}

TEST_CASE("J1: a write that was accepted whole is not followed by on_writable, even if the transport was blocked") {
    conversation c;
    c.shake_hands();
    c.wire->stall();
    CHECK(c.server->write("hello").bytes == 5);
    c.wire->resume();
    c.deliver();
    CHECK(c.client->input == "hello");
    CHECK(c.heard.writables == 0);
}

TEST_CASE("a peer that requests key updates forever and does not read is disconnected") {
    conversation c({.version = TLS1_3_VERSION});
    c.shake_hands();
    c.wire->stall();
    int asked = 0;
    while (c.heard.failures == 0 && asked < 20'000) {
        REQUIRE(SSL_key_update(c.client->session(), SSL_KEY_UPDATE_REQUESTED) == 1);
        c.client->send("x");
        c.wire->feed(c.client->take_output());
        c.loop->run();
        ++asked;
    }
    CHECK(c.heard.failure == "the peer does not read the TLS messages that it requests");
    CHECK(asked > 1000);
    CHECK(asked < 10'000);
    c.server->close();
    CHECK(c.wire->closed());
    CHECK(c.loop->timers() == 0);
}

TEST_CASE("keys are updated during a conversation") {
    conversation c({.version = TLS1_3_VERSION});
    c.shake_hands();
    for (int i = 0; i < 5; ++i) {
        REQUIRE(SSL_key_update(c.client->session(), SSL_KEY_UPDATE_REQUESTED) == 1);
        c.client->send("a");
        c.exchange();
        CHECK(c.server->write("b").bytes == 1);
        c.exchange();
    }
    CHECK(c.heard.input == "aaaaa");
    CHECK(c.client->input == "bbbbb");
    CHECK(c.client->error.empty());
}

TEST_CASE("a client's renegotiation request is refused, and the conversation continues") {
    conversation c({.version = TLS1_2_VERSION});
    c.shake_hands();
    REQUIRE(SSL_renegotiate(c.client->session()) == 1);
    SSL_do_handshake(c.client->session());  // sends the request
    std::string wish = c.client->take_output();
    REQUIRE_FALSE(wish.empty());
    c.wire->feed(wish);
    c.loop->run();
    CHECK(c.heard.failures == 0);
    std::string answer = c.wire->take_output();
    REQUIRE(answer.size() > 5);
    CHECK(answer[0] == 21);  // an alert
    CHECK(c.server->write("going on").bytes == 8);
    CHECK_FALSE(c.wire->take_output().empty());
}

TEST_CASE("pause stops input, resume continues it, but not inside the call") {
    conversation c;
    c.shake_hands();
    c.heard.when_input = [&] { c.server->pause(); };
    for (const char* said : {"one ", "two ", "three ", "four"}) c.client->send(said);  // four records, one read
    c.client->end();
    c.exchange();
    CHECK(c.heard.input == "one ");
    CHECK(c.wire->paused());
    c.server->resume();
    CHECK(c.heard.reads == 1);
    c.loop->run();
    CHECK(c.heard.input == "one two ");
    c.server->resume();
    c.server->pause();  // before the posted turn
    c.loop->run();
    CHECK(c.heard.reads == 2);
    c.server->resume();
    c.server->pause();
    c.server->resume();
    c.loop->run();
    CHECK(c.heard.input == "one two three ");
    c.heard.when_input = [&] {  // within one call
        c.server->pause();
        c.server->resume();
    };
    c.server->resume();
    c.loop->run();
    CHECK(c.heard.input == "one two three four");
    CHECK(c.heard.ended);
    CHECK(c.heard.failures == 0);
}

TEST_CASE("reading continues after input that was held back") {
    conversation c;
    c.shake_hands();
    c.heard.when_input = [&] { c.server->pause(); };
    c.client->send("one ");
    c.client->send("two ");
    c.exchange();
    c.heard.when_input = {};
    c.server->resume();
    c.loop->run();
    CHECK(c.heard.input == "one two ");
    c.client->send("three");
    c.exchange();
    CHECK(c.heard.input == "one two three");
}

TEST_CASE("the handshake does not proceed while reading is paused") {
    conversation c;
    c.server->pause();
    c.exchange();
    CHECK_FALSE(c.server->handshaken());
    CHECK(c.wire->writes() == 0);
    c.server->resume();
    c.exchange();
    CHECK(c.server->handshaken());
}

TEST_CASE("errors of one connection do not leak into another connection on the same thread") {
    conversation good;
    good.shake_hands();
    conversation bad;
    bad.wire->feed("garbage of the first order");
    bad.loop->run();
    CHECK(bad.heard.failures == 1);
    CHECK(tls::take_reason() == "unknown error");
    SSL_CTX_use_PrivateKey_file(nullptr, "/nowhere", 1);  // an unrelated error in OpenSSL's queue
    good.client->send("hello");
    good.exchange();
    CHECK(good.heard.input == "hello");
    CHECK(good.server->write("hello").bytes == 5);
    CHECK(good.heard.failures == 0);
    tls::take_reason();
}

TEST_CASE("an idle connection is small and leaks nothing") {
    for (int version : versions) {
        auto idle = [&] {
            auto c = std::make_unique<conversation>(client_options{.version = version});
            c->shake_hands();
            c->client->send(numbers(200'000));
            c->exchange();
            std::string answer = numbers(200'000);
            CHECK(c->server->write(answer).bytes == answer.size());
            c->exchange();
            c->client.reset();
            return c;
        };
        idle();  // one-time allocations
        std::size_t before = openssl_bytes();
        {
            auto c = idle();
            std::size_t each = openssl_bytes() - before;
            MESSAGE("bytes of OpenSSL in an idle connection: " << each);
            CHECK(each < 16 * 1024);
        }
        CHECK(openssl_bytes() == before);
        {
            conversation c({.version = version});
            c.wire->feed(c.client->take_output());
            c.deliver();
        }
        CHECK(openssl_bytes() == before);
    }
}
