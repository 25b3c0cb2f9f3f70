#include "line_buffer.hpp"

#include <doctest/doctest.h>

using namespace keel::command;

namespace {

line_buffer typed_text(std::string_view text) {
    line_buffer b;
    b.insert(text);
    return b;
}

}  // namespace

TEST_CASE("text is inserted and erased at the cursor, by whole characters") {
    line_buffer b = typed_text("aäb");
    b.left();
    b.erase_before();
    CHECK(b.text() == "ab");
    b.insert("漢");
    CHECK(b.text() == "a漢b");
    b.to_start();
    b.right();
    b.erase_after();
    CHECK(b.text() == "ab");
    b.to_start();
    b.erase_before();
    b.left();
    CHECK(b.cursor() == 0);
    b.to_end();
    b.right();
    b.erase_after();
    CHECK(b.text() == "ab");
}

TEST_CASE("a word, the start and the end of a line are erased") {
    line_buffer b = typed_text("call echo text=x ");
    b.erase_word();
    CHECK(b.text() == "call echo ");
    b.to_start();
    b.right();
    b.erase_to_end();
    CHECK(b.text() == "c");
    b.erase_to_start();
    CHECK(b.text() == "");
    b.erase_word();
    CHECK(b.text() == "");
}

TEST_CASE("the history shows older lines and keeps the edited one") {
    line_buffer b;
    b.set_history({"one", "two"});
    b.insert("edited");
    b.older();
    CHECK(b.text() == "two");
    b.older();
    b.older();  // there is no older one
    CHECK(b.text() == "one");
    b.newer();
    b.newer();
    b.newer();
    CHECK(b.text() == "edited");
    CHECK(b.take() == "edited");
    CHECK(b.text() == "");
    CHECK(b.history() == std::vector<std::string>{"one", "two", "edited"});
}

TEST_CASE("empty lines, repeated lines and lines that begin with a space are not kept") {
    line_buffer b;
    for (const char* line : {"a", "a", "", " secret", "b"}) {
        b.insert(line);
        CHECK(b.take() == line);
    }
    CHECK(b.history() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a completed word replaces the text before the cursor") {
    line_buffer b = typed_text("call ec x");
    b.left();
    b.left();
    b.replace_before(2, "echo");
    CHECK(b.text() == "call echo x");
    CHECK(b.cursor() == 9);
}

TEST_CASE("a line that is too long for the terminal scrolls so that the cursor is visible") {
    visible_line all = visible_part("abcdef", 6, 20);
    CHECK(all.text == "abcdef");
    CHECK(all.cursor == 6);
    visible_line end = visible_part("abcdefghij", 10, 5);
    CHECK(end.text == "ghij");
    CHECK(end.cursor == 4);
    visible_line start = visible_part("abcdefghij", 0, 5);
    CHECK(start.text == "abcd");
    CHECK(start.cursor == 0);
}
