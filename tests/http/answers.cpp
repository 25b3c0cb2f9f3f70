#include "http/answers.hpp"

#include <charconv>
#include <optional>

namespace keel::test {

namespace {

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

std::optional<std::size_t> number(std::string_view text, int base) {
    std::size_t n = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n, base);
    if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return n;
}

/// Returns false if it is not a valid head.
bool read_head(std::string_view head, seen_answer& a) {
    std::size_t end = head.find("\r\n");
    std::string_view first = head.substr(0, end);
    auto status = first.starts_with("HTTP/1.") && first.size() > 12 ? number(first.substr(9, 3), 10) : std::nullopt;
    if (!status) return false;
    a.status = static_cast<int>(*status);
    while (end != std::string_view::npos) {
        head.remove_prefix(end + 2);
        end = head.find("\r\n");
        std::string_view line = head.substr(0, end);
        std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) return line.empty();
        a.headers[lower(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
    }
    return true;
}

void read_event(std::string_view text, seen_answer& a) {
    seen_event e;
    bool said = false;
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.starts_with(":")) {
            ++a.comments;
            continue;
        }
        std::size_t colon = line.find(": ");
        std::string_view name = line.substr(0, colon);
        std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 2);
        said = true;
        if (name == "id") e.id = value;
        else if (name == "event") e.event = value;
        else if (name == "retry") e.retry = value;
        else if (name == "data") e.data += value;
    }
    if (said) a.events.push_back(std::move(e));
}

void read_events(seen_answer& a) {
    std::string_view left = a.body;
    for (std::size_t end; (end = left.find("\n\n")) != std::string_view::npos; left.remove_prefix(end + 2)) {
        read_event(left.substr(0, end + 1), a);
    }
}

/// Consumes the chunks; sets a.complete after the last one. Returns false if they are invalid.
bool read_chunks(std::string_view& bytes, seen_answer& a) {
    for (;;) {
        std::size_t end = bytes.find("\r\n");
        if (end == std::string_view::npos) return bytes.size() <= 16;
        auto size = number(bytes.substr(0, end), 16);
        if (!size) return false;
        if (bytes.size() < end + 4 + *size) {
            if (*size > 0) a.body += bytes.substr(end + 2, *size);
            bytes = {};
            return true;
        }
        a.body += bytes.substr(end + 2, *size);
        if (bytes.substr(end + 2 + *size, 2) != "\r\n") return false;
        bytes.remove_prefix(end + 4 + *size);
        if (*size == 0) {
            a.complete = true;
            return true;
        }
    }
}

}  // namespace

std::vector<std::string> seen_answer::messages() const {
    std::vector<std::string> all;
    if (!stream) {
        if (complete && !body.empty() && header("content-type").starts_with("application/json")) all.push_back(body);
        return all;
    }
    for (const seen_event& e : events) {
        if (!e.data.empty() && e.event != "endpoint") all.push_back(e.data);
    }
    return all;
}

seen_output read_answers(std::string_view bytes, bool closed) {
    seen_output out;
    while (!bytes.empty()) {
        std::size_t end = bytes.find("\r\n\r\n");
        if (end == std::string_view::npos) {
            out.unread = bytes.size();
            break;
        }
        seen_answer a;
        if (!read_head(bytes.substr(0, end), a)) {
            out.problem = "not the head of an answer: " + std::string(bytes.substr(0, 60));
            break;
        }
        bytes.remove_prefix(end + 4);
        if (a.status == 100) {
            ++out.continues;
            continue;
        }
        a.stream = a.header("content-type") == "text/event-stream";
        if (a.header("transfer-encoding") == "chunked") {
            if (!read_chunks(bytes, a)) out.problem = "not a chunk: " + std::string(bytes.substr(0, 60));
        } else if (auto size = number(a.header("content-length"), 10)) {
            a.complete = bytes.size() >= *size;
            a.body = bytes.substr(0, *size);
            bytes.remove_prefix(a.body.size());
        } else if (a.status == 204) {
            a.complete = true;
        } else {
            a.body = bytes;
            a.complete = closed;
            bytes = {};
        }
        if (a.stream) read_events(a);
        bool whole = a.complete;
        out.answers.push_back(std::move(a));
        if (!out.problem.empty() || !whole) break;
    }
    return out;
}

}  // namespace keel::test
