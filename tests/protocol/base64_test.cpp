#include "protocol/base64.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

using namespace keel;

namespace {

struct pair {
    std::string_view bytes;
    std::string_view padded;
    std::string_view url;
};

// RFC 4648, section 10, and values that distinguish the two alphabets.
constexpr pair known[] = {
    {"", "", ""},
    {"f", "Zg==", "Zg"},
    {"fo", "Zm8=", "Zm8"},
    {"foo", "Zm9v", "Zm9v"},
    {"foob", "Zm9vYg==", "Zm9vYg"},
    {"fooba", "Zm9vYmE=", "Zm9vYmE"},
    {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
    {"\xfb\xff\xfe", "+//+", "-__-"},
    {std::string_view("\0\0", 2), "AAA=", "AAA"},
};

}  // namespace

TEST_CASE("RES-04: known bytes are encoded and decoded as Base64") {
    for (const pair& p : known) {
        CAPTURE(p.padded);
        CHECK(base64_encode(p.bytes) == p.padded);
        CHECK(base64url_encode(p.bytes) == p.url);
        CHECK(base64_decode(p.padded) == p.bytes);
        CHECK(base64url_decode(p.url) == p.bytes);
    }
}

TEST_CASE("random bytes of every length survive encoding and decoding") {
    std::mt19937 random(1);
    for (std::size_t length = 0; length < 200; ++length) {
        std::string bytes;
        for (std::size_t i = 0; i < length; ++i) bytes += static_cast<char>(random() & 0xFF);
        CHECK(base64_decode(base64_encode(bytes)) == bytes);
        CHECK(base64url_decode(base64url_encode(bytes)) == bytes);
    }
}

TEST_CASE("text that is not canonical Base64 is rejected") {
    for (const std::string_view text :
         {"Z",    "Zg",    "Zg=",  "Zg===", "Zg==Zg==", "Zh==",  "Zm9=",  "Zm8",  "=",       "==",      "===",
          "====", "Zm9v=", "Zm=v", "Z===",  "Zm9v\n",   " Zm9v", "Zm 9v", "-__-", "Zm9\xc3", "Zm9v===="}) {
        CAPTURE(text);
        CHECK(!base64_decode(text));
    }
    for (const std::string_view text : {"Z", "Zg==", "Zh", "Zm9", "Zm8=", "+//+", "Zm9v=", "Zm9vY", "Zm9v\n"}) {
        CAPTURE(text);
        CHECK(!base64url_decode(text));
    }
    CHECK(!base64_decode(std::string_view("Zm9\0", 4)));
}

TEST_CASE("changing any character gives different bytes or an error") {
    const std::string text = base64url_encode("a sealed state");
    const std::string bytes = *base64url_decode(text);
    for (std::size_t i = 0; i < text.size(); ++i) {
        for (int c = 0; c < 256; ++c) {
            std::string changed = text;
            changed[i] = static_cast<char>(c);
            if (changed != text) CHECK(base64url_decode(changed) != bytes);
        }
    }
}

TEST_CASE("decoding appends, and does not change the buffer if it fails") {
    std::string out = "kept ";
    CHECK(protocol::append_base64_decoded(out, "Zm9v"));
    CHECK(out == "kept foo");
    CHECK(!protocol::append_base64_decoded(out, "Zm9vZm9!"));
    CHECK(out == "kept foo");
    protocol::append_base64(out, "f");
    CHECK(out == "kept fooZg==");
}
