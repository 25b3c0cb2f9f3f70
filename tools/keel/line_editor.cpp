#include "line_editor.hpp"

#include "printable.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

namespace keel::command {

namespace {

/// Every key arrives at once, and Ctrl-C as a character.
class raw_mode {
public:
    raw_mode() : changed_(::tcgetattr(STDIN_FILENO, &before_) == 0) {
        if (!changed_) return;
        termios raw = before_;
        raw.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR | IXON);
        raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | ISIG | IEXTEN);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    raw_mode(const raw_mode&) = delete;
    raw_mode& operator=(const raw_mode&) = delete;
    ~raw_mode() {
        if (changed_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
    }

private:
    termios before_{};
    bool changed_;
};

class wake_event {
public:
    wake_event() : fd_(::eventfd(0, EFD_CLOEXEC)) {}
    wake_event(const wake_event&) = delete;
    wake_event& operator=(const wake_event&) = delete;
    ~wake_event() {
        if (fd_ >= 0) ::close(fd_);
    }
    int fd() const noexcept { return fd_; }
    void set() const noexcept {
        std::uint64_t one = 1;
        while (::write(fd_, &one, sizeof one) < 0 && errno == EINTR) {
        }
    }

private:
    int fd_;
};

std::size_t bytes_of_character(char first) {
    auto byte = static_cast<unsigned char>(first);
    return byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
}

std::string common_beginning(const std::vector<candidate>& all) {
    std::string same = all[0].text;
    for (const candidate& each : all) {
        std::size_t n = 0;
        while (n < same.size() && n < each.text.size() && same[n] == each.text[n]) ++n;
        same.resize(n);
    }
    return same;
}

/// As split_line reads it back.
std::string quoted(const std::string& word) {
    if (word.find_first_of(" \t\"'\\") == std::string::npos) return word;
    std::string out = "\"";
    for (char c : word) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

constexpr char control(char letter) { return static_cast<char>(letter & 0x1f); }

}  // namespace

line_editor::line_editor(console& screen, std::string prompt, std::function<candidates(const std::string&)> complete)
    : screen_(screen), prompt_(std::move(prompt)), complete_(std::move(complete)) {}

void line_editor::show() {
    std::size_t columns = std::max<std::size_t>(screen_.columns(), 20);
    std::size_t used = width_of(prompt_);
    visible_line line = visible_part(buffer_.text(), buffer_.cursor(), columns - std::min(used, columns - 10) - 1);
    screen_.show_prompt(prompt_ + line.text + "\r\x1b[" + std::to_string(used + line.cursor) + "C");
}

void line_editor::complete_word() {
    std::string before = buffer_.text().substr(0, buffer_.cursor());
    candidates found = complete_(before);
    if (found.words.empty()) return;
    std::string current = split_line(before).back();
    std::string same = common_beginning(found.words);
    bool only = found.words.size() == 1;
    if (same.size() > current.size() || only) {
        // A quoted word is replaced as a whole only if it is written as it is read.
        if (!before.ends_with(current)) return;
        buffer_.replace_before(current.size(), quoted(same) + (only && found.words[0].complete ? " " : ""));
        return;
    }
    for (const candidate& each : found.words)
        screen_.say("  " + printable_line(each.text) +
                    (each.about.empty() ? "" : "  " + cut_to(printable_line(each.about), 60)));
}

line_editor::outcome line_editor::on_escape(const std::string& sequence) {
    if (sequence == "\x1b[A" || sequence == "\x1bOA") buffer_.older();
    else if (sequence == "\x1b[B" || sequence == "\x1bOB") buffer_.newer();
    else if (sequence == "\x1b[C" || sequence == "\x1bOC") buffer_.right();
    else if (sequence == "\x1b[D" || sequence == "\x1bOD") buffer_.left();
    else if (sequence == "\x1b[H" || sequence == "\x1bOH" || sequence == "\x1b[1~") buffer_.to_start();
    else if (sequence == "\x1b[F" || sequence == "\x1bOF" || sequence == "\x1b[4~") buffer_.to_end();
    else if (sequence == "\x1b[3~") buffer_.erase_after();
    return outcome::editing;
}

line_editor::outcome line_editor::on_key(char c) {
    if (!pending_.empty()) {
        pending_ += c;
        if (pending_[0] == '\x1b') {
            // ESC [ ... letter, ESC O letter, ESC letter
            bool longer = pending_.size() == 2 && (c == '[' || c == 'O');
            bool inside = pending_.size() > 2 && pending_[1] == '[' && !(c >= '@' && c <= '~') && pending_.size() < 16;
            if (longer || inside) return outcome::editing;
            return on_escape(std::exchange(pending_, {}));
        }
        if (pending_.size() < bytes_of_character(pending_[0])) return outcome::editing;
        std::string character = std::exchange(pending_, {});
        if (printable_line(character) == character) buffer_.insert(character);
        return outcome::editing;
    }
    switch (c) {
        case '\r':
        case '\n': return outcome::line;
        case '\t': complete_word(); break;
        case control('c'): buffer_.clear(); break;
        case control('d'):
            if (buffer_.text().empty()) return outcome::end;
            buffer_.erase_after();
            break;
        case control('a'): buffer_.to_start(); break;
        case control('e'): buffer_.to_end(); break;
        case control('b'): buffer_.left(); break;
        case control('f'): buffer_.right(); break;
        case control('k'): buffer_.erase_to_end(); break;
        case control('u'): buffer_.erase_to_start(); break;
        case control('w'): buffer_.erase_word(); break;
        case control('p'): buffer_.older(); break;
        case control('n'): buffer_.newer(); break;
        case '\x7f':
        case control('h'): buffer_.erase_before(); break;
        default:
            if (c == '\x1b' || bytes_of_character(c) > 1) pending_ = c;
            else if (static_cast<unsigned char>(c) >= 0x20) buffer_.insert({&c, 1});
    }
    return outcome::editing;
}

std::optional<std::string> line_editor::read_line(const std::stop_token& stop) {
    raw_mode raw;
    wake_event wake;
    std::stop_callback on_stop(stop, [&wake] { wake.set(); });
    std::array<pollfd, 2> on = {{{STDIN_FILENO, POLLIN, 0}, {wake.fd(), POLLIN, 0}}};
    show();
    while (true) {
        if (::poll(on.data(), on.size(), -1) < 0) continue;
        // One key at a time: what is typed after Enter belongs to the command or to the next line.
        char c = 0;
        ssize_t n = on[1].revents != 0 ? 0 : ::read(STDIN_FILENO, &c, 1);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        outcome after = n <= 0 ? outcome::end : on_key(c);
        if (after == outcome::editing) {
            show();
            continue;
        }
        buffer_.to_end();
        show();
        screen_.end_prompt();
        if (after == outcome::end) return std::nullopt;
        return buffer_.take();
    }
}

}  // namespace keel::command
