#include "http/response_head.hpp"

#include "http_common/reason_phrase.hpp"

#include <charconv>

namespace keel::inline KEEL_ABI::http {

namespace {

constexpr std::size_t length_width = 10;  // digits reserved for a Content-Length that is filled in later
constexpr std::size_t chunk_width = 8;

constexpr std::string_view json_begin = "Content-Type: application/json\r\nContent-Length: ";
constexpr std::string_view ready_json = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";

}  // namespace

void begin_response(std::string& out, int status, unsigned minor, bool keep_alive) {
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, status).ptr;
    out.append(minor == 0 ? "HTTP/1.0 " : "HTTP/1.1 ").append(digits, end).append(" ").append(reason_phrase(status));
    out.append("\r\n");
    if (!keep_alive) out.append("Connection: close\r\n");
    else if (minor == 0) out.append("Connection: keep-alive\r\n");
}

void add_header(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ");
    const std::size_t start = out.size();
    out.append(value);
    for (std::size_t i = start; i != out.size(); ++i) {
        const unsigned char c = static_cast<unsigned char>(out[i]);
        if (c < 0x20 || c == 0x7f) out[i] = ' ';
    }
    out.append("\r\n");
}

void add_content_type(std::string& out, std::string_view type) { add_header(out, "Content-Type", type); }

void add_content_length(std::string& out, std::size_t length) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, length).ptr;
    out.append("Content-Length: ").append(digits, end).append("\r\n");
}

void end_head(std::string& out) { out.append("\r\n"); }

std::size_t begin_json(std::string& out, int status, unsigned minor, bool keep_alive, std::string_view more) {
    if (status == 200 && minor == 1 && keep_alive && more.empty()) {
        out.append(ready_json);
    } else {
        begin_response(out, status, minor, keep_alive);
        out.append(more).append(json_begin);
    }
    const std::size_t slot = out.size();
    // Blanks before the digits are optional white space. Content-Length is the last header, so that the body begins at a known
    // distance from it.
    out.append(length_width, ' ').append("\r\n\r\n");
    return slot;
}

void end_json(std::string& out, std::size_t slot) {
    std::size_t left = out.size() - slot - length_width - 4;
    std::size_t at = slot + length_width;
    do {
        out[--at] = static_cast<char>('0' + left % 10);
        left /= 10;
    } while (left != 0 && at != slot);
}

std::size_t begin_chunk(std::string& out) {
    const std::size_t slot = out.size();
    out.append(chunk_width, '0').append("\r\n");
    return slot;
}

void end_chunk(std::string& out, std::size_t slot) {
    std::size_t left = out.size() - slot - chunk_width - 2;
    if (left == 0) return out.resize(slot);
    for (std::size_t at = slot + chunk_width; left != 0 && at != slot; left /= 16) {
        out[--at] = "0123456789abcdef"[left % 16];
    }
    out.append("\r\n");
}

void append_last_chunk(std::string& out) { out.append("0\r\n\r\n"); }

}  // namespace keel::http
