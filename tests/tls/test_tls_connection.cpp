#include "tls_peers.hpp"

#include <keel/transport.hpp>

#include <algorithm>
#include <cerrno>
#include <string>

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;
using tls::tls_connection;

namespace {

std::string numbers(std::size_t size) {
    std::string all;
    for (int i = 0; all.size() < size; ++i) all += std::to_string(i) + '\n';
    all.resize(size);
    return all;
}

constexpr int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

}  // namespace

TEST_CASE("both sides talk, and each hears the other's goodbye") {
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
        CHECK(c.server->write("last words").bytes == 10);  // the end of input is not that of output
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

TEST_CASE("everything may come in single bytes") {
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

TEST_CASE("each flight of a client may be cut in two at every byte") {
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

TEST_CASE("many records in one read are told one after another") {
    conversation c;
    c.shake_hands();
    std::string said = numbers(60'000);
    for (std::size_t at = 0; at < said.size(); at += 1000) c.client->send(said.substr(at, 1000));
    c.exchange();
    CHECK(c.heard.input == said);
}

TEST_CASE("before the handshake write takes nothing, and tells when it would") {
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

TEST_CASE("J1: a peer that stops reading makes write stop taking; then it goes on, byte for byte") {
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
    c.wire->accept(20'000);  // there is room again, but too little to begin anew
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

TEST_CASE("J1: a write that was taken whole is followed by no on_writable, also when the wire was blocked") {
    conversation c;
    c.shake_hands();
    c.wire->stall();
    CHECK(c.server->write("hello").bytes == 5);
    c.wire->resume();
    c.deliver();
    CHECK(c.client->input == "hello");
    CHECK(c.heard.writables == 0);
}

TEST_CASE("a peer that asks for new keys for ever and reads no answer is cut off") {
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
    CHECK(c.heard.failure == "the peer does not read the answers it makes us send");
    CHECK(asked > 1000);
    CHECK(asked < 10'000);
    c.server->close();
    CHECK(c.wire->closed());
    CHECK(c.loop->timers() == 0);
}

TEST_CASE("new keys are agreed on in the middle of a conversation") {
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

TEST_CASE("a client that wants to renegotiate is told no, and the conversation goes on") {
    conversation c({.version = TLS1_2_VERSION});
    c.shake_hands();
    REQUIRE(SSL_renegotiate(c.client->session()) == 1);
    SSL_do_handshake(c.client->session());  // puts its wish on the wire
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

TEST_CASE("pausing leaves input where it is, resuming goes on, and not from inside") {
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
    c.server->pause();  // before the turn has come
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

TEST_CASE("after input that was held back, reading goes on") {
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

TEST_CASE("a handshake stands still while reading is paused") {
    conversation c;
    c.server->pause();
    c.exchange();
    CHECK_FALSE(c.server->handshaken());
    CHECK(c.wire->writes() == 0);
    c.server->resume();
    c.exchange();
    CHECK(c.server->handshaken());
}

TEST_CASE("C1: an end without close_notify is the end of input, also in the middle of a record") {
    for (bool in_record : {false, true}) {
        conversation c;
        c.shake_hands();
        c.client->send("all there is");
        c.exchange();
        if (in_record) {
            c.client->send("cut off");
            c.wire->feed(c.client->take_output().substr(0, 10));
        }
        c.wire->eof();
        c.loop->run();
        CHECK(c.heard.ended);
        CHECK(c.heard.input == "all there is");
        CHECK(c.heard.failures == 0);
        CHECK(c.server->write("still works").bytes == 11);
        c.deliver();
        CHECK(c.client->input == "still works");
    }
}

TEST_CASE("C1: an end that comes while input is held back is told after it") {
    manual_loop loop;
    auto [raw, other] = memory_pair(loop, loop);
    tls_connection server(loop, std::move(raw), common_context());
    recorder heard;
    recorder at_client;
    tls_client client;
    server.start(heard);
    other->start(at_client);
    for (int i = 0; i < 4; ++i) {
        std::string out = client.take_output();
        CHECK(other->write(out).bytes == out.size());
        loop.run();
        client.feed(std::exchange(at_client.input, {}));
    }
    REQUIRE(client.handshaken);
    heard.when_input = [&] { server.pause(); };
    client.send("one");
    client.send("two");
    other->write(client.take_output());
    other->close();  // the memory pair tells the bytes and the end in one turn
    loop.run();
    CHECK(heard.input == "one");
    CHECK_FALSE(heard.ended);
    server.resume();
    loop.run();
    CHECK(heard.input == "onetwo");
    CHECK_FALSE(heard.ended);
    server.resume();
    loop.run();
    CHECK(heard.ended);
}

TEST_CASE("what follows close_notify is nothing, and so is the end after it") {
    conversation c;
    c.shake_hands();
    c.client->send("said");
    c.client->end();
    c.wire->feed(c.client->take_output() + "garbage");
    c.wire->feed("more garbage");
    c.wire->eof();
    c.loop->run();
    CHECK(c.heard.input == "said");
    CHECK(c.heard.ended);
    CHECK(c.wire->paused());  // it is not even read
    CHECK(c.wire->unread() == 2);
    CHECK(c.heard.failures == 0);
    c.server->pause();
    c.server->resume();
    c.loop->run();
    CHECK(c.heard.failures == 0);
    c.wire->hangup();
    c.loop->run();
    CHECK(c.heard.failures == 1);  // C7: still noticed
    c.wire->hangup();
    c.loop->run();
    CHECK(c.heard.failures == 1);
}

TEST_CASE("an end at each byte of the handshake is a failure, told once") {
    for (int version : versions) {
        std::size_t cut = 0;
        for (std::size_t size = 1; cut < size; ++cut) {
            conversation c({.version = version});
            std::string first = c.client->take_output();
            size = first.size();
            c.wire->feed(first.substr(0, cut));
            c.wire->eof();
            c.loop->run();
            if (c.heard.failures != 1 || c.heard.ended ||
                c.heard.failure != "the peer hung up in the middle of the TLS handshake") {
                FAIL("cut at " << cut << ": " << c.heard.failure);
            }
        }
        CHECK(cut > 100);
    }
}

TEST_CASE("garbage instead of a handshake is refused with a sentence, whatever it is") {
    auto outcome = [](std::string bytes) {
        conversation c;
        c.wire->feed(std::move(bytes));
        c.loop->run();
        CHECK(c.heard.failures == 1);
        CHECK(c.heard.failure.starts_with("the TLS handshake failed: "));
        CHECK_FALSE(c.heard.failure.ends_with("no reason given"));
        CHECK_FALSE(c.server->write("x").failure.empty());
        c.wire->feed("and more of it");
        c.wire->eof();
        c.loop->run();
        CHECK(c.heard.failures == 1);
        CHECK_FALSE(c.heard.ended);
        c.server->close();
        CHECK(c.wire->closed());
    };
    outcome(std::string(1000, '\0'));
    outcome(std::string(1000, '\xff'));
    outcome("SSH-2.0-OpenSSH_9.2\r\n");
    outcome(std::string("\x16\x03\x01\xff\xff", 5) + std::string(70'000, 'x'));  // a record longer than any may be
    outcome(std::string("\x17\x03\x03\x00\x05hello", 10));                       // data before any handshake
    outcome(std::string("\x15\x03\x03\x00\x02\x02\x28", 7));                     // an alert
    std::string hello = tls_client().take_output();
    for (std::size_t at = 0; at < 10; ++at) {  // what is not a ClientHello, by one bit
        std::string bent = hello;
        bent[at] = static_cast<char>(bent[at] ^ 0x40);
        conversation c;
        c.wire->feed(bent + std::string(20'000, '\0'));
        c.loop->run();
        CAPTURE(at);
        CHECK(c.heard.failures == 1);
    }
}

TEST_CASE("plain HTTP on a TLS port is told so in plain HTTP") {
    for (const char* said : {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST /mcp HTTP/1.1\r\nHost: x\r\n\r\n"}) {
        conversation c;
        c.wire->feed(said);
        c.loop->run();
        CHECK(c.heard.failure == "the TLS handshake failed: http request");
        std::string answer = c.wire->take_output();
        CHECK(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"));
        CHECK(answer.ends_with("\r\n\r\nThis port speaks TLS: the address begins with https.\n"));
    }
}

TEST_CASE("one flipped bit in a record ends the connection, with an alert") {
    for (int version : versions) {
        conversation c({.version = version});
        c.shake_hands();
        c.client->send("good");
        c.exchange();
        c.client->send("bad");
        std::string bent = c.client->take_output();
        bent.back() = static_cast<char>(bent.back() ^ 1);
        c.wire->feed(bent);
        c.loop->run();
        CHECK(c.heard.input == "good");
        CHECK(c.heard.failures == 1);
        CHECK(c.heard.failure == "TLS failed: decryption failed or bad record mac");
        c.client->feed(c.wire->take_output());
        CHECK(c.client->error.find("alert bad record mac") != std::string::npos);
        CHECK_FALSE(c.server->write("x").failure.empty());
    }
}

TEST_CASE("a client that does not trust us says so, and that is the reason given") {
    conversation c;
    SSL_set_verify(c.client->session(), SSL_VERIFY_PEER, nullptr);
    c.exchange();
    CHECK(c.client->error == "certificate verify failed");
    CHECK(c.heard.failures == 1);
    CHECK(c.heard.failure.find("alert") != std::string::npos);
}

TEST_CASE("C5, C7: the wire may fail while anything is under way: told once, or by write") {
    for (bool reading : {true, false}) {
        // 0: before a byte, 1: the hello is read, 2: shaken hands, 3: paused with input held back
        for (int stage = 0; stage < 4; ++stage) {
            CAPTURE(stage);
            conversation c;
            if (stage == 1) {
                c.wire->feed(c.client->take_output().substr(0, 50));
                c.loop->run();
            }
            if (stage >= 2) c.shake_hands();
            if (stage == 3) {
                c.heard.when_input = [&] { c.server->pause(); };
                c.client->send("one");
                c.client->send("two");
                c.exchange();
            }
            if (reading && stage < 3) {
                c.wire->fail_read(ECONNRESET);
            } else {
                c.wire->hangup();
            }
            c.loop->run();
            CHECK(c.heard.failures == 1);
            CHECK_FALSE(c.server->write("x").failure.empty());
            c.server->resume();
            c.loop->run();
            CHECK(c.heard.input == (stage == 3 ? "one" : ""));
            c.server.reset();
            CHECK(c.wire->destroyed());
        }
    }
}

TEST_CASE("C5: let writing fail after 0, 1, 2, … bytes: no byte of a handshake or an answer may pass unnoticed") {
    for (int version : versions) {
        std::size_t after = 0;
        for (bool passed = false; !passed; ++after) {
            conversation c({.version = version});
            c.wire->fail_write_after(after, EPIPE);
            c.exchange();
            std::string told;
            if (c.server->handshaken() && c.heard.failures == 0) {
                told = c.server->write("answer").failure;
                c.exchange();
            }
            passed = c.client->input == "answer";
            bool once = (told.empty() ? 0u : 1u) + c.heard.failures == (passed ? 0u : 1u);
            std::string cause = told + c.heard.failure;
            if (!once || (!passed && cause != "Broken pipe")) {
                FAIL("after " << after << ": " << cause << ", told " << c.heard.failures << " times");
            }
        }
        CHECK(after > 500);
    }
}

TEST_CASE("closed or destroyed at each stage of a handshake: nothing is heard, nothing stays") {
    for (bool destroy : {true, false}) {
        for (int stage = 0; stage < 4; ++stage) {
            conversation c;
            for (int i = 0; i < stage; ++i) {
                c.wire->feed(c.client->take_output());
                c.deliver();
            }
            c.wire->feed(c.client->take_output());  // is under way when it is closed
            if (destroy) {
                c.server.reset();
            } else {
                c.server->close();
                c.server->pause();
                c.server->resume();
            }
            c.loop->run();
            CHECK(c.wire->closed());
            CHECK(c.wire->destroyed() == destroy);
            CHECK(c.heard.failures + c.heard.reads + c.heard.writables == 0);
            CHECK(c.loop->timers() == 0);
        }
    }
}

TEST_CASE("a connection may be closed or destroyed inside any call to its listener") {
    for (bool destroy : {true, false}) {
        auto leave = [&](conversation& c) {
            return [&] {
                if (destroy) {
                    c.server.reset();
                } else {
                    c.server->close();
                }
            };
        };
        {
            conversation c;
            c.shake_hands();
            c.heard.when_input = leave(c);
            c.client->send("one");
            c.client->send("two");
            c.client->end();
            c.exchange();
            CHECK(c.heard.input == "one");
            CHECK_FALSE(c.heard.ended);
            CHECK(c.client->ended);
        }
        {
            conversation c;
            c.shake_hands();
            c.heard.when_ended = leave(c);
            c.client->end();
            c.exchange();
            CHECK(c.heard.ended);
            CHECK(c.client->ended);
        }
        {
            conversation c;
            c.heard.when_failed = leave(c);
            c.wire->feed("garbage of the first order");
            c.loop->run();
            CHECK(c.heard.failures == 1);
            CHECK(c.wire->closed());
        }
        {
            conversation c;
            c.server->write("early");
            c.heard.when_writable = leave(c);
            c.exchange();
            CHECK(c.heard.writables == 1);
            CHECK(c.wire->closed());
        }
        {
            conversation c;
            c.shake_hands();
            c.wire->stall();
            c.server->write(numbers(1'000'000));
            c.heard.when_writable = leave(c);
            c.wire->resume();
            c.deliver();
            CHECK(c.heard.writables == 1);
            CHECK(c.wire->closed());
            CHECK(c.client->ended);
        }
        {
            conversation c;  // in a turn that resume has posted
            c.shake_hands();
            c.heard.when_input = [&] { c.server->pause(); };
            c.client->send("one");
            c.client->send("two");
            c.client->send("three");
            c.exchange();
            c.heard.when_input = leave(c);
            c.server->resume();
            c.loop->run();
            CHECK(c.heard.input == "onetwo");
        }
        {
            conversation c;  // with that turn still to come
            c.shake_hands();
            c.heard.when_input = [&] { c.server->pause(); };
            c.client->send("one");
            c.client->send("two");
            c.exchange();
            c.server->resume();
            leave(c)();
            c.loop->run();
            CHECK(c.heard.input == "one");
        }
    }
}

TEST_CASE("what write has taken is delivered after close, and then the end, however slowly the peer reads") {
    for (bool destroy : {true, false}) {
        conversation c;
        c.shake_hands();
        c.server->pause();
        c.wire->stall();
        std::string all = numbers(1'000'000);
        std::size_t taken = c.server->write(all).bytes;
        CHECK(taken >= 48 * 1024);
        if (destroy) {
            c.server.reset();
        } else {
            c.server->close();
        }
        CHECK_FALSE(c.wire->closed());
        CHECK_FALSE(c.wire->paused());  // a peer that cannot send may not come to read
        c.client->send("nobody hears this");
        while (!c.wire->closed()) {
            c.wire->feed(c.client->take_output());
            c.wire->accept(1000);
            c.deliver();
        }
        CHECK(c.client->input == all.substr(0, taken));
        CHECK(c.client->ended);
        CHECK(c.heard.reads + c.heard.writables + c.heard.failures == 0);
        CHECK(c.loop->timers() == 0);
        CHECK(c.wire->destroyed() == destroy);
    }
}

TEST_CASE("last words to a peer that takes none end at their bound, with the peer, or with the loop") {
    conversation c;
    c.shake_hands();
    c.wire->stall();
    c.server->write("hello");
    c.server.reset();
    CHECK_FALSE(c.wire->closed());
    SUBCASE("their bound") {
        c.loop->advance(limits{}.write_stall - 1ms);
        CHECK_FALSE(c.wire->closed());
        c.loop->advance(1ms);
    }
    SUBCASE("the peer hangs up") {
        c.wire->hangup();
        c.loop->run();
    }
    SUBCASE("writing fails") {
        c.wire->fail_write_after(0, EPIPE);
        c.wire->resume();
        c.loop->run();
    }
    SUBCASE("the loop") { c.loop->end(); }
    CHECK(c.wire->destroyed());
    CHECK(c.loop->timers() == 0);
}

TEST_CASE("closed where the loop has ended already: what is below is closed at once") {
    conversation c;
    c.shake_hands();
    c.loop->end();
    c.server->write("into the wire");
    c.server.reset();
    CHECK(c.wire->destroyed());
}

TEST_CASE("a connection that was never started closes quietly") {
    manual_loop loop;
    auto [raw, other] = memory_pair(loop, loop);
    recorder at_client;
    other->start(at_client);
    {
        tls_connection server(loop, std::move(raw), common_context());
        CHECK(server.describe() == "tls memory");
        server.pause();
        server.resume();
        CHECK(server.write("x").bytes == 0);
    }
    loop.run();
    CHECK(at_client.ended);
    CHECK(at_client.input.empty());
}

TEST_CASE("errors of one connection do not leak into another's on the same thread") {
    conversation good;
    good.shake_hands();
    conversation bad;
    bad.wire->feed("garbage of the first order");
    bad.loop->run();
    CHECK(bad.heard.failures == 1);
    CHECK(tls::take_reason() == "no reason given");
    SSL_CTX_use_PrivateKey_file(nullptr, "/nowhere", 1);  // somebody else's error, left behind
    good.client->send("hello");
    good.exchange();
    CHECK(good.heard.input == "hello");
    CHECK(good.server->write("hello").bytes == 5);
    CHECK(good.heard.failures == 0);
    tls::take_reason();
}

TEST_CASE("an idle connection is small, and leaves nothing behind") {
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
        idle();  // what is made once and stays
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
