#include "line_buffer.hpp"

#include "printable.hpp"

#include <algorithm>

namespace keel::command {

namespace {

constexpr std::size_t longest_line = 64 * 1024;
constexpr std::size_t longest_history = 1000;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; }

std::size_t previous(std::string_view text, std::size_t at) {
    if (at == 0) return 0;
    --at;
    while (at > 0 && continues(text[at])) --at;
    return at;
}

std::size_t next(std::string_view text, std::size_t at) {
    if (at < text.size()) ++at;
    while (at < text.size() && continues(text[at])) ++at;
    return at;
}

}  // namespace

void line_buffer::insert(std::string_view more) {
    if (text_.size() + more.size() > longest_line) return;
    text_.insert(cursor_, more);
    cursor_ += more.size();
}

void line_buffer::erase_before() {
    std::size_t from = previous(text_, cursor_);
    text_.erase(from, cursor_ - from);
    cursor_ = from;
}

void line_buffer::erase_after() { text_.erase(cursor_, next(text_, cursor_) - cursor_); }

void line_buffer::erase_word() {
    std::size_t from = cursor_;
    while (from > 0 && text_[from - 1] == ' ') --from;
    while (from > 0 && text_[from - 1] != ' ') --from;
    text_.erase(from, cursor_ - from);
    cursor_ = from;
}

void line_buffer::erase_to_start() {
    text_.erase(0, cursor_);
    cursor_ = 0;
}

void line_buffer::erase_to_end() { text_.erase(cursor_); }
void line_buffer::left() { cursor_ = previous(text_, cursor_); }
void line_buffer::right() { cursor_ = next(text_, cursor_); }

void line_buffer::replace_before(std::size_t bytes, std::string_view with) {
    bytes = std::min(bytes, cursor_);
    text_.replace(cursor_ - bytes, bytes, with);
    cursor_ = cursor_ - bytes + with.size();
}

void line_buffer::show(std::size_t which) {
    if (which > history_.size()) return;
    if (shown_ == 0) edited_ = text_;
    shown_ = which;
    text_ = which == 0 ? edited_ : history_[history_.size() - which];
    to_end();
}

void line_buffer::older() { show(shown_ + 1); }

void line_buffer::newer() {
    if (shown_ > 0) show(shown_ - 1);
}

std::string line_buffer::take() {
    std::string line = text_;
    bool kept = !line.empty() && line[0] != ' ' && (history_.empty() || history_.back() != line);
    if (kept) history_.push_back(line);
    if (history_.size() > longest_history) history_.erase(history_.begin());
    clear();
    return line;
}

void line_buffer::clear() {
    text_.clear();
    cursor_ = shown_ = 0;
    edited_.clear();
}

visible_line visible_part(std::string_view text, std::size_t cursor, std::size_t columns) {
    // Scrolls by characters until the cursor is visible.
    std::size_t from = 0;
    while (from < cursor && width_of(text.substr(from, cursor - from)) >= columns) from = next(text, from);
    std::size_t to = cursor;
    while (to < text.size() && width_of(text.substr(from, next(text, to) - from)) < columns) to = next(text, to);
    return {std::string(text.substr(from, to - from)), width_of(text.substr(from, cursor - from))};
}

}  // namespace keel::command
