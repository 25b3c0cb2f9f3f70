// The parts of a content block, for its receiver.

#include <keel/content.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace keel;

namespace {
content received(const char* text) { return content::block(json::parse(text)); }
}  // namespace

TEST_CASE("a text block is text, whatever its annotations") {
    content plain("hello");
    CHECK(plain.is_text());
    CHECK(plain.is_plain_text());
    content noted = content("hello").with({.priority = 0.5});
    CHECK(noted.is_text());
    CHECK_FALSE(noted.is_plain_text());
    CHECK(noted.text() == "hello");
    CHECK_FALSE(content::image("", "image/png").is_text());
    // It has no other parts.
    CHECK(plain.data().empty());
    CHECK(plain.mime_type().empty());
    CHECK(plain.uri().empty());
    CHECK_FALSE(plain.bytes());
    CHECK_FALSE(plain.linked());
    CHECK_FALSE(plain.embedded());
}

TEST_CASE("images and audio return their bytes") {
    const std::string bytes("\x00\xff\x10", 3);
    for (const content& each : {content::image_bytes(bytes, "image/png"), content::audio_bytes(bytes, "image/png")}) {
        CHECK(each.bytes() == bytes);
        CHECK(each.data() == "AP8Q");
        CHECK(each.mime_type() == "image/png");
        CHECK(each.uri().empty());
        CHECK_FALSE(each.embedded());
    }
    CHECK(content::image("", "image/png").bytes() == "");
    CHECK_FALSE(content::image("no base64!", "image/png").bytes());
    CHECK(content::image("no base64!", "image/png").data() == "no base64!");
}

TEST_CASE("resource links and embedded resources have a URI") {
    content link = received(R"({"type":"resource_link","uri":"a:b","name":"b","mimeType":"text/css","size":3})");
    CHECK(link.uri() == "a:b");
    CHECK(link.mime_type() == "text/css");
    CHECK_FALSE(link.bytes());
    REQUIRE(link.linked());
    CHECK(link.linked()->size == 3);
    CHECK_FALSE(link.embedded());

    content text = received(R"({"type":"resource","resource":{"uri":"a:c","mimeType":"text/css","text":"x{}"}})");
    CHECK(text.uri() == "a:c");
    CHECK(text.mime_type() == "text/css");
    CHECK_FALSE(text.bytes());
    CHECK(text.text().empty());
    REQUIRE(text.embedded());
    CHECK(text.embedded()->text == "x{}");
    CHECK_FALSE(text.embedded()->bytes());
    CHECK_FALSE(text.linked());

    content blob = content::embed(resource_contents::of_bytes("a:d", "\xfe"));
    CHECK(blob.bytes() == "\xfe");
    CHECK(blob.data() == "/g==");
    CHECK(blob.mime_type() == "application/octet-stream");
    REQUIRE(blob.embedded());
    CHECK(blob.embedded()->bytes() == "\xfe");
}

TEST_CASE("an unknown or invalid block has no content") {
    content other = received(R"({"type":"hologram","data":"AA==","mimeType":"x/y","uri":"a:b"})");
    CHECK(other.type() == "hologram");
    CHECK(other.data().empty());
    CHECK(other.mime_type().empty());
    CHECK(other.uri().empty());
    content odd = received(R"({"type":"resource","resource":{"uri":7,"blob":[]}})");
    CHECK(odd.uri().empty());
    CHECK_FALSE(odd.bytes());
    CHECK_FALSE(odd.embedded());
    CHECK_FALSE(received(R"({"type":"resource_link","uri":"a:b","name":"b","size":"big"})").linked());
}
