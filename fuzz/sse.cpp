// Event streams: the reader gives the same events however the bytes are split, and reads back what our writer has
// written.

#include "http/sse_writer.hpp"
#include "http_common/sse_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace keel::http;

void require(bool holds) {
    if (!holds) std::abort();
}

constexpr sse_limits small = {.max_event = 150};

void add(std::string& out, std::string_view text) { out.append(std::to_string(text.size())).append(":").append(text); }

std::string read_stream(std::string_view bytes, std::string_view cuts, const sse_limits& limits) {
    sse_reader reader(limits);
    std::string out;
    std::size_t number = 0;
    while (!bytes.empty()) {
        std::size_t n = bytes.size();
        if (!cuts.empty())
            n = std::min<std::size_t>(n, 1 + static_cast<unsigned char>(cuts[number++ % cuts.size()]) % 32);
        const std::string piece(bytes.substr(0, n));
        bytes.remove_prefix(n);
        const auto take_large = [&](std::string_view beginning) {
            require(beginning.size() <= 1024);
            add(out, "too large");
            add(out, beginning);
        };
        const auto take = [&](const sse_event& e) {
            require(e.data.size() <= limits.max_event && e.data.find('\r') == std::string_view::npos);
            require(!e.event.empty() && e.event.find_first_of("\r\n") == std::string_view::npos);
            require(e.id.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos);
            add(out, e.id);
            add(out, e.event);
            add(out, e.data);
        };
        reader.feed(piece, take, take_large);
    }
    add(out, reader.last_event_id());
    out.append(reader.retry() ? std::to_string(reader.retry()->count()) : "none");
    return out;
}

std::string without(std::string_view text, std::string_view what) {
    std::string out(text);
    std::erase_if(out, [&](char c) { return what.find(c) != std::string_view::npos; });
    return out;
}

/// The same stream with other line ends.
std::string with_line_ends(std::string_view stream, std::string_view end) {
    std::string out;
    for (char c : stream) {
        if (c == '\n') out.append(end);
        else out.push_back(c);
    }
    return out;
}

std::string with_plain_line_ends(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i != text.size(); ++i) {
        if (text[i] == '\r' && text.substr(i).starts_with("\r\n")) continue;
        out.push_back(text[i] == '\r' ? '\n' : text[i]);
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::size_t cuts = std::min<std::size_t>(4, size);
    const std::string_view bytes = input.substr(0, size - cuts);

    const std::string whole = read_stream(bytes, {}, small);
    require(read_stream(bytes, std::string_view("\0", 1), small) == whole);
    if (cuts != 0) require(read_stream(bytes, input.substr(size - cuts), small) == whole);

    // The same bytes as the fields of events.
    const std::string_view id = bytes.substr(0, bytes.size() / 4);
    const std::string_view event = bytes.substr(id.size(), bytes.size() / 4);
    const std::string_view text = bytes.substr(id.size() + event.size());
    std::string stream;
    append_comment(stream, event);
    append_event(stream, id, event, text);
    append_comment(stream, text);
    append_retry(stream, std::chrono::milliseconds(size));
    append_priming_event(stream, "next");
    std::string expected;
    const std::string clean_id = without(id, std::string_view("\r\n\0", 3));
    const std::string clean_event = without(event, std::string_view("\r\n\0", 3));
    add(expected, clean_id.size() > 8 * 1024 ? std::string() : clean_id);
    add(expected, clean_event.empty() ? "message" : clean_event.substr(0, 256));
    add(expected, with_plain_line_ends(text));
    for (std::string_view each : {"next", "message", "", "next"}) add(expected, each);
    expected.append(std::to_string(size));
    for (std::string_view end : {"\n", "\r", "\r\n"}) {
        const std::string sent = with_line_ends(stream, end);
        require(read_stream(sent, {}, {}) == expected);
        if (cuts != 0) require(read_stream(sent, input.substr(size - cuts), {}) == expected);
    }
    return 0;
}
