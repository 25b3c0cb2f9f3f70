// Finds the end of an HTTP response for the load generator. It checks only what is necessary to detect a wrong
// response.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {

struct answer {
    int status = 0;
    std::string_view head;  // including the empty line
    std::string_view body;  // without chunk framing
    std::size_t size = 0;   // in the stream
    bool whole = false;     // false: the body so far of an incomplete stream
};

inline std::size_t find(std::string_view text, std::string_view what) {
    const void* found = memmem(text.data(), text.size(), what.data(), what.size());
    return found == nullptr ? std::string_view::npos
                            : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

/// The value of a header, or nothing. `name` must be in lower case.
inline std::string_view header_of(std::string_view head, std::string_view name) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
    for (auto at = find(head, "\r\n"); at + 2 < head.size();) {
        const auto line_at = at + 2;
        const auto end = line_at + find(head.substr(line_at), "\r\n");
        const auto line = head.substr(line_at, end - line_at);
        if (line.size() > name.size() && line[name.size()] == ':' &&
            std::equal(name.begin(), name.end(), line.begin(), [&](char a, char b) { return a == lower(b); })) {
            auto value = line.substr(name.size() + 1);
            while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
            return value;
        }
        at = end;
    }
    return {};
}

inline std::size_t number(std::string_view text, int base) {
    std::size_t out = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), out, base).ec != std::errc{}) {
        throw std::runtime_error("invalid length: " + std::string(text.substr(0, 40)));
    }
    return out;
}

/// Appends the chunks at the front of `bytes` to `body`. Returns their size if the last chunk is complete.
inline std::optional<std::size_t> unchunk(std::string_view bytes, std::string& body) {
    body.clear();
    for (std::size_t at = 0;;) {
        const auto line = find(bytes.substr(at), "\r\n");
        if (line == std::string_view::npos) return std::nullopt;
        const auto size = number(bytes.substr(at, line), 16);
        const auto data = at + line + 2;
        if (data + size + 2 > bytes.size()) return std::nullopt;
        if (bytes.substr(data + size, 2) != "\r\n") throw std::runtime_error("unterminated chunk");
        if (size == 0) return data + 2;  // these servers send no trailers
        body += bytes.substr(data, size);
        at = data + size + 2;
    }
}

/// The response at the front of `bytes`, or nothing if its head is incomplete. `scratch` holds a chunked body.
inline std::optional<answer> read_answer(std::string_view bytes, std::string& scratch) {
    const auto end = find(bytes, "\r\n\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    answer out;
    out.head = bytes.substr(0, end + 4);
    if (!bytes.starts_with("HTTP/1.1 "))
        throw std::runtime_error("response is not HTTP/1.1: " + std::string(bytes.substr(0, 60)));
    out.status = static_cast<int>(number(bytes.substr(9, 3), 10));
    const auto rest = bytes.substr(out.head.size());
    if (const auto length = header_of(out.head, "content-length"); !length.empty()) {
        const auto size = number(length, 10);
        out.body = rest.substr(0, size);
        out.whole = rest.size() >= size;
        out.size = out.head.size() + size;
    } else if (header_of(out.head, "transfer-encoding") == "chunked") {
        const auto size = unchunk(rest, scratch);
        out.body = scratch;
        out.whole = size.has_value();
        out.size = out.head.size() + size.value_or(0);
    } else if (out.status == 202 || out.status == 204) {
        out.whole = true;
        out.size = out.head.size();
    } else {
        throw std::runtime_error("response without a length");
    }
    return out;
}

}  // namespace bench
