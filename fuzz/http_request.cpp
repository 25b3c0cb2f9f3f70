// The bytes of a connection, split in different ways, give the same requests or the same error. The requests satisfy
// the reader's guarantees, and memory stays within the limits.

#include "http/origin_check.hpp"
#include "http/request_reader.hpp"
#include "http_common/media_type.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace keel::http;
using state = request_reader::state;

void require(bool holds) {
    if (!holds) std::abort();
}

constexpr reader_limits small = {.max_head = 400, .max_target = 100, .max_headers = 8, .max_body = 200};

void add(std::string& out, std::string_view text) { out.append(std::to_string(text.size())).append(":").append(text); }

/// All observable properties of a request, after checking the invariants.
void describe(std::string& out, const request& r) {
    require(!r.method.empty() && r.path.starts_with('/') && r.minor <= 1);
    require(r.body.size() <= small.max_body && r.headers.size() <= small.max_headers);
    require(r.minor == 0 || r.host.data() != nullptr);
    require(r.count("content-length") + r.count("transfer-encoding") <= 1);
    for (std::string_view text : {r.method, r.target, r.path, r.query, r.host, r.body}) add(out, text);
    out.append(r.keep_alive ? "k" : "c").append(r.has_body ? "b" : "n").append(std::to_string(r.minor));
    for (const header& each : r.headers) {
        require(!each.name.empty());
        require(each.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos);
        require(!each.value.starts_with(' ') && !each.value.ends_with(' '));
        add(out, each.name);
        add(out, each.value);
    }
    read_accept(r.headers);
    is_json_type(r.find("content-type"));
    static const origin_check check({.hosts = {"example.com"}, .origins = {"https://app.example.com"}, .cors = true});
    const bool fine = check.check(r) == origin_check::verdict::fine;
    std::string cors;
    check.append_preflight(cors, r.find("origin"), r.find("access-control-request-headers"));
    for (std::size_t i = 0; i != cors.size(); ++i) {
        if (cors[i] == '\n') require(i > 0 && cors[i - 1] == '\r');
        if (cors[i] == '\r') require(i + 1 < cors.size() && cors[i + 1] == '\n');
    }
    out.append(fine ? "+" : "-");
}

/// Reads a connection in pieces, each in its own allocation. `cuts` are their lengths; empty: one piece.
std::string read_connection(std::string_view bytes, std::string_view cuts) {
    request_reader reader(small);
    std::string out;
    std::size_t piece_number = 0;
    while (!bytes.empty()) {
        std::size_t n = bytes.size();
        if (!cuts.empty())
            n = std::min<std::size_t>(n, 1 + static_cast<unsigned char>(cuts[piece_number++ % cuts.size()]));
        const std::string piece(bytes.substr(0, n));
        bytes.remove_prefix(n);
        std::string_view rest = piece;
        for (;;) {
            const std::size_t taken = reader.feed(rest);
            require(taken <= rest.size());
            rest.remove_prefix(taken);
            if (reader.at() != state::complete) break;
            require(reader.feed(rest) == 0 && reader.begun() && !reader.wants_continue());
            describe(out, reader.get());
            reader.next();
            require(!reader.begun() && reader.at() == state::head);
        }
        require(rest.empty() &&
                reader.memory() <= 2 * small.max_head + 2 * small.max_body + 2 * small.max_headers * sizeof(header));
        reader.release_memory();  // must not affect a request that is being read
    }
    if (reader.at() == state::refused) {
        require(reader.why().status >= 400 && *reader.why().reason != '\0');
        out.append("refused ").append(reader.why().reason);
    } else {
        out.append(reader.at() == state::head ? reader.begun() ? "head" : "idle" : "body");
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    // The last bytes determine the cuts.
    const std::size_t cuts = std::min<std::size_t>(4, size);
    const std::string_view bytes = input.substr(0, size - cuts);
    const std::string whole = read_connection(bytes, {});
    require(read_connection(bytes, std::string_view("\0", 1)) == whole);
    if (cuts != 0) require(read_connection(bytes, input.substr(size - cuts)) == whole);
    return 0;
}
