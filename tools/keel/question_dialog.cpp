#include "question_dialog.hpp"

#include "printable.hpp"

#include <condition_variable>
#include <utility>

namespace keel::command {

namespace {

std::string in_small_letters(std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    return text;
}

}  // namespace

asker::asker(console& out, std::string where, std::function<std::stop_token()> interrupted)
    : console_(out), where_(std::move(where)), interrupted_(std::move(interrupted)) {}

void asker::wait_if_interrupted(const asked_by& who) const {
    if (!interrupted_().stop_requested()) return;
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait(lock, who.stop_token(), [] { return false; });
}

std::string asker::dialog::asker_name() const {
    std::string name = printable_line(who_.server_name());
    std::string where = printable_line(owner_.where_);
    return name.empty() ? where : name + " (" + where + ")";
}

typed asker::dialog::ask(std::string_view question) {
    while (true) {
        owner_.input_.discard_resumed();
        write(question);
        typed t = owner_.input_.read_line(who_.stop_token(), interrupted_);
        if (t.what == typed::kind::resumed)
            continue;  // after Ctrl-Z the shell has written over the question: ask again
        if (t.what != typed::kind::line) line("");
        return t;
    }
}

std::optional<char> asker::dialog::choose(std::string_view question, std::span<const choice> choices) {
    while (true) {
        typed t = ask(question);
        if (t.what != typed::kind::line) return std::nullopt;
        std::string word = in_small_letters(printable_line(t.line));
        std::string known;
        for (const choice& each : choices) {
            if (word == each.word || (word.size() == 1 && word[0] == each.word[0])) return each.meaning;
            known += (known.empty() ? "" : ", ") + std::string(each.word);
        }
        indented("Please type one of these words, or its first letter: " + known + ".");
    }
}

void asker::dialog::indented(std::string_view text) { line(wrapped(text, 2, columns())); }

}  // namespace keel::command
