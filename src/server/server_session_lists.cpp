// Lists that need no application functions. resource_list.cpp has the list that may call them.

#include "server/cursor.hpp"
#include "server/server_session.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::server_side {

namespace {

template <class Entry>
std::optional<std::uint64_t> find_entries(list_text& out, std::string_view start, const table<Entry>& all,
                                          const incoming& in, std::size_t limit) {
    list_position from = wanted_position(in.which, in.params);
    auto page = all.list(in.rev, from.number, limit);
    out.before += protocol::is_modern(in.rev) ? R"({"resultType":"complete",)" : "{";
    out.before += start;
    out.entries = page.items;
    return page.last;
}

}  // namespace

void server_session::list(const incoming& in, list_text& out) {
    const std::size_t limit = std::max<std::size_t>(server_->options.page_size, 1);
    std::optional<std::uint64_t> last;
    switch (in.which) {
        case method::prompts_list:
            last = find_entries(out, R"("prompts":[)", prompts_.of(server_->prompts), in, limit);
            break;
        case method::resources_templates_list:
            last = find_entries(out, R"("resourceTemplates":[)", templates_.of(server_->templates), in, limit);
            break;
        default: last = find_entries(out, R"("tools":[)", tools_.of(server_->tools), in, limit); break;
    }
    out.after += ']';
    if (last) {
        list_position next;
        next.number = *last;
        out.after += R"(,"nextCursor":")";
        out.after += write_cursor(in.which, next);
        out.after += '"';
    }
    if (protocol::is_modern(in.rev)) write_cache_hint(out.after, server_->hint_for(in.which));
    end_result(out.after, in.rev, *server_);
}

}  // namespace keel::server_side
