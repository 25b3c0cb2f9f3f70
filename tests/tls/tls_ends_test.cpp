#include "tls_peers.hpp"

#include <keel/transport.hpp>

#include <cerrno>
#include <string>

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;
using tls::tls_connection;

TEST_CASE("C1: an end without close_notify is the end of input, even inside a record") {
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

TEST_CASE("C1: an end that arrives while input is held back is reported after that input") {
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
    other->close();  // the memory pair delivers the bytes and the end in one turn
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

TEST_CASE("input after close_notify is ignored, and so is the end after it") {
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
    CHECK(c.wire->paused());  // reading has stopped
    CHECK(c.wire->unread() == 2);
    CHECK(c.heard.failures == 0);
    c.server->pause();
    c.server->resume();
    c.loop->run();
    CHECK(c.heard.failures == 0);
    c.wire->hangup();
    c.loop->run();
    CHECK(c.heard.failures == 1);  // C7: still detected
    c.wire->hangup();
    c.loop->run();
    CHECK(c.heard.failures == 1);
}

TEST_CASE("an end at any byte of the handshake is one failure") {
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
                c.heard.failure != "the peer closed the connection during the TLS handshake") {
                FAIL("cut at " << cut << ": " << c.heard.failure);
            }
        }
        CHECK(cut > 100);
    }
}

TEST_CASE("garbage instead of a handshake gives an error") {
    auto outcome = [](std::string bytes) {
        conversation c;
        c.wire->feed(std::move(bytes));
        c.loop->run();
        CHECK(c.heard.failures == 1);
        CHECK(c.heard.failure.starts_with("the TLS handshake failed: "));
        CHECK_FALSE(c.heard.failure.ends_with("unknown error"));
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
    outcome(std::string("\x16\x03\x01\xff\xff", 5) + std::string(70'000, 'x'));  // a record longer than allowed
    outcome(std::string("\x17\x03\x03\x00\x05hello", 10));                       // data before the handshake
    outcome(std::string("\x15\x03\x03\x00\x02\x02\x28", 7));                     // an alert
    std::string hello = tls_client().take_output();
    for (std::size_t at = 0; at < 10; ++at) {  // a ClientHello with one changed bit
        std::string bent = hello;
        bent[at] = static_cast<char>(bent[at] ^ 0x40);
        conversation c;
        c.wire->feed(bent + std::string(20'000, '\0'));
        c.loop->run();
        CAPTURE(at);
        CHECK(c.heard.failures == 1);
    }
}

TEST_CASE("plain HTTP on a TLS port gets an error page in plain HTTP") {
    for (const char* said : {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST /mcp HTTP/1.1\r\nHost: x\r\n\r\n"}) {
        conversation c;
        c.wire->feed(said);
        c.loop->run();
        CHECK(c.heard.failure == "the TLS handshake failed: http request");
        std::string answer = c.wire->take_output();
        CHECK(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"));
        CHECK(answer.ends_with("\r\n\r\nThis port requires TLS: use an https:// URL.\n"));
    }
}

TEST_CASE("one flipped bit in a record ends the connection with an alert") {
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

TEST_CASE("if a client does not trust our certificate, its alert is the reported reason") {
    conversation c;
    SSL_set_verify(c.client->session(), SSL_VERIFY_PEER, nullptr);
    c.exchange();
    CHECK(c.client->error == "certificate verify failed");
    CHECK(c.heard.failures == 1);
    CHECK(c.heard.failure.find("alert") != std::string::npos);
}

TEST_CASE("C5, C7: a transport failure at any time is reported once, by the listener or by write") {
    for (bool reading : {true, false}) {
        // 0: before any byte, 1: the ClientHello is read, 2: handshake done, 3: paused with input held back
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

TEST_CASE("C5: a write error after 0, 1, 2, … bytes of the handshake or the data is reported once") {
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

TEST_CASE("closing or destroying a connection at any stage of the handshake reports and leaks nothing") {
    for (bool destroy : {true, false}) {
        for (int stage = 0; stage < 4; ++stage) {
            conversation c;
            for (int i = 0; i < stage; ++i) {
                c.wire->feed(c.client->take_output());
                c.deliver();
            }
            c.wire->feed(c.client->take_output());  // in transit when it is closed
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
            conversation c;  // with that turn still pending
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

TEST_CASE("accepted output is delivered after close, followed by the end, however slowly the peer reads") {
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
        CHECK_FALSE(c.wire->paused());  // a peer that is blocked in sending might never read
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

TEST_CASE("flushing after close ends at its timeout, with the peer, or with the loop") {
    conversation c;
    c.shake_hands();
    c.wire->stall();
    c.server->write("hello");
    c.server.reset();
    CHECK_FALSE(c.wire->closed());
    SUBCASE("timeout") {
        c.loop->advance(limits{}.write_stall - 1ms);
        CHECK_FALSE(c.wire->closed());
        c.loop->advance(1ms);
    }
    SUBCASE("the peer closes") {
        c.wire->hangup();
        c.loop->run();
    }
    SUBCASE("writing fails") {
        c.wire->fail_write_after(0, EPIPE);
        c.wire->resume();
        c.loop->run();
    }
    SUBCASE("the loop ends") { c.loop->end(); }
    CHECK(c.wire->destroyed());
    CHECK(c.loop->timers() == 0);
}

TEST_CASE("closing after the loop has ended closes the transport at once") {
    conversation c;
    c.shake_hands();
    c.loop->end();
    c.server->write("into the wire");
    c.server.reset();
    CHECK(c.wire->destroyed());
}

TEST_CASE("closing a connection that was never started reports nothing") {
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
