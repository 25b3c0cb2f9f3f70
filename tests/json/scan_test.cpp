#include "../../src/json/scan.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>

using namespace keel::json::detail;

namespace {

/// The bytes alone in a heap block, so that a sanitizer detects a read beyond them.
struct exact {
    explicit exact(const std::string& text) : bytes(new char[text.size()]), size(text.size()) {
        if (size != 0) std::memcpy(bytes.get(), text.data(), size);
    }
    const char* begin() const { return bytes.get(); }
    const char* end() const { return bytes.get() + size; }
    std::unique_ptr<char[]> bytes;
    std::size_t size;
};

}  // namespace

TEST_CASE("every scanning method stops at the first byte that is not plain") {
    for (std::size_t length = 0; length != 40; ++length) {
        for (std::size_t at = 0; at <= length; ++at) {
            for (int c = 0; c != 256; ++c) {
                std::string text(length, 'x');
                if (at != length) text[at] = static_cast<char>(c);
                if (at + 1 < length) text[at + 1] = '!';  // next to a quote, where a borrow would be carried
                const exact e(text);
                const char* expected = e.begin();
                while (expected != e.end() && is_plain(*expected)) ++expected;
                REQUIRE(skip_plain(e.begin(), e.end()) == expected);
                REQUIRE(skip_plain_portable(e.begin(), e.end()) == expected);
                expected = e.begin();
                while (expected != e.end() && is_ascii(*expected)) ++expected;
                REQUIRE(skip_ascii(e.begin(), e.end()) == expected);
                REQUIRE(skip_ascii_portable(e.begin(), e.end()) == expected);
            }
        }
    }
}

TEST_CASE("a byte is plain if it is ASCII and needs no escape in a string") {
    for (int c = 0; c != 256; ++c) {
        const bool expected = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
        CHECK(is_plain(static_cast<char>(c)) == expected);
    }
}
