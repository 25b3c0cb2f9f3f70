#include "exchange.hpp"

#include "printable.hpp"

#include <condition_variable>
#include <utility>

namespace keel::command {

asker::asker(console& out, std::string where, std::stop_token interrupted)
    : console_(out), where_(std::move(where)), interrupted_(std::move(interrupted)) {}

void asker::wait_if_interrupted(const asked_by& who) const {
    if (!interrupted_.stop_requested()) return;
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait(lock, who.stop_token(), [] { return false; });
}

std::string asker::exchange::asker_name() const {
    std::string name = printable_line(who_.server_name());
    std::string where = printable_line(owner_.where_);
    return name.empty() ? where : name + " (" + where + ")";
}

std::optional<char> asker::exchange::ask_letter(std::string_view question, std::string_view letters) {
    while (true) {
        write(question);
        typed t = read();
        if (t.what != typed::kind::line) {
            line("");
            return std::nullopt;
        }
        if (t.line.empty()) continue;
        char letter = t.line[0];
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + ('a' - 'A'));
        if (letters.find(letter) != std::string_view::npos) return letter;
    }
}

}  // namespace keel::command
