// The bytes of a server, split in different ways, give the same responses or the same error. The responses satisfy the
// reader's guarantees, memory is bounded, and no redirect leads to another host.

#include "http_client/redirect.hpp"
#include "http_client/response_reader.hpp"
#include "protocol/url_parts.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace keel::http_client;
using namespace keel::protocol;
using event = response_reader::event;

void require(bool holds) {
    if (!holds) std::abort();
}

constexpr std::size_t max_head = 400;

void add(std::string& out, std::string_view text) { out.append(std::to_string(text.size())).append(":").append(text); }

void check_redirection(std::string_view location) {
    static const url_parts from = url_parts::parse("http://example.com:8080/a/b?c");
    const auto to = redirect_target(from, location);
    if (!to) return;
    require(to->host == from.host && (to->secure || to->port == from.port) && to->authorization.empty());
    require(to->target.starts_with('/') && is_request_target(to->target) && to->target.find('#') == std::string::npos);
    // The text form has the same meaning.
    const url_parts again = url_parts::parse(to->origin() + to->target);
    require(again.same_origin(*to) && again.target == to->target);
}

/// All observable properties of a head, after checking the invariants.
void describe(std::string& out, const response_reader& r) {
    require(r.status() >= 200 && r.status() <= 999);
    std::size_t lengths = 0;
    std::size_t codings = 0;
    out.append(std::to_string(r.status())).append(r.keep_alive() ? "k" : "c");
    if (r.idle_time()) out.append(std::to_string(r.idle_time()->count()));
    for (const auto& [name, value] : r.headers()) {
        require(!name.empty() && to_lower(name) == name && name.find_first_of(" \t:\r\n") == name.npos);
        require(value.find_first_of(std::string_view("\r\n\0", 3)) == value.npos);
        require(!value.starts_with(' ') && !value.ends_with(' '));
        if (name == "content-length") ++lengths;
        if (name == "transfer-encoding") ++codings;
        if (name == "location") check_redirection(value);
        add(out, name);
        add(out, value);
    }
    require(codings == 0 || (codings == 1 && lengths == 0));
}

/// Reads responses in pieces, each in its own allocation. `cuts` are their lengths; empty: one piece.
std::string read_all(std::string_view bytes, response_reader::request_kind kind, std::string_view cuts) {
    response_reader reader(max_head);
    reader.start(kind);
    std::string out;
    std::string body;
    std::size_t piece_number = 0;
    while (!bytes.empty()) {
        std::size_t n = bytes.size();
        if (!cuts.empty())
            n = std::min<std::size_t>(n, 1 + static_cast<unsigned char>(cuts[piece_number++ % cuts.size()]));
        const std::string piece(bytes.substr(0, n));
        bytes.remove_prefix(n);
        std::string_view rest = piece;
        for (bool more = false; !more;) {
            const std::size_t before = rest.size();
            const event what = reader.next(rest);
            require(rest.size() <= before && reader.memory() <= max_head);
            switch (what) {
                case event::more:
                    require(rest.empty());
                    more = true;
                    break;
                case event::head: describe(out, reader); break;
                case event::body:
                    require(!reader.piece().empty());
                    body += reader.piece();
                    break;
                case event::end:
                    add(out, body);
                    out += reader.keep_alive() ? "end\n" : "last\n";
                    if (!reader.keep_alive()) return out;
                    body.clear();
                    reader.start(kind);
                    require(!reader.begun());
                    break;
                case event::bad:
                    require(*reader.why() != '\0');
                    add(out, body);
                    return out.append("bad ").append(reader.why());
            }
            if (rest.empty() && what == event::end) more = true;
        }
    }
    add(out, body);
    return out.append(reader.begun() ? "begun " : "idle ").append(reader.end_of_input() == event::end ? "end" : "cut");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view input(reinterpret_cast<const char*>(data), size);
    // The last bytes determine the cuts and the request.
    const std::size_t cuts = std::min<std::size_t>(4, size);
    const std::string_view bytes = input.substr(0, size - cuts);
    const std::string_view where = input.substr(size - cuts);
    const unsigned asked = where.empty() ? 0 : static_cast<unsigned char>(where.back()) % 8;
    const auto kind = asked == 6   ? response_reader::request_kind::head
                      : asked == 7 ? response_reader::request_kind::connect
                                   : response_reader::request_kind::usual;
    const std::string whole = read_all(bytes, kind, {});
    require(read_all(bytes, kind, std::string_view("\0", 1)) == whole);
    if (!where.empty()) require(read_all(bytes, kind, where) == whole);
    return 0;
}
