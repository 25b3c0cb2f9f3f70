// resources/list: the registered resources, then the results of the templates' `list` functions.

#include "protocol/messages.hpp"
#include "protocol/revisions.hpp"
#include "server/cursor.hpp"
#include "server/invocation.hpp"
#include "server/offers.hpp"

#include <algorithm>
#include <set>

namespace keel::inline KEEL_ABI::server_side {

namespace {

/// One resources/list request. Owned by its invocation; its handler refers to it.
class resource_lister {
public:
    resource_lister(const incoming& in, std::shared_ptr<const table<resource_offer>> resources,
                    std::shared_ptr<const table<template_offer>> templates, std::size_t page_size)
        : resources_(std::move(resources)), templates_(std::move(templates)),
          limit_(std::max<std::size_t>(page_size, 1)), from_(wanted_position(in.which, in.params)), revision_(in.rev) {
        handler_.plain = [this](context* ctx, const json::value&, detail::reply& out) { list(ctx, out); };
        // Only the application's functions may block.
        handler_.quick = lister_from(0) == templates_->size();
        handler_.wants_context = !handler_.quick;
    }
    resource_lister(const resource_lister&) = delete;
    resource_lister& operator=(const resource_lister&) = delete;

    const detail::handler& handler() const noexcept { return handler_; }

private:
    void list(context* ctx, detail::reply& out) const;
    bool list_behind(const template_offer& t, context& ctx, list_position& at, std::size_t& room,
                     std::set<std::string>& shown, detail::reply& out) const;
    bool show(const resource& r, std::set<std::string>& shown, detail::reply& out) const;

    /// The first template at or after `i` with a `list` function.
    std::size_t lister_from(std::size_t i) const noexcept {
        while (i < templates_->size() && !(*templates_)[i]->options.list) ++i;
        return i;
    }

    std::shared_ptr<const table<resource_offer>> resources_;
    std::shared_ptr<const table<template_offer>> templates_;
    std::size_t limit_;
    list_position from_;
    protocol::revision revision_;
    detail::handler handler_;
};

void write_next(detail::reply& out, const list_position& at) {
    out.extra += R"(,"nextCursor":")";
    out.extra += write_cursor(protocol::method::resources_list, at);
    out.extra += '"';
}

void resource_lister::list(context* ctx, detail::reply& out) const {
    list_position at = from_;
    std::size_t room = limit_;
    if (!at.behind_templates) {
        auto page = resources_->list(revision_, at.number, room);
        out.content += page.items;
        room -= page.count;
        if (page.last) {
            at.number = *page.last;
            return write_next(out, at);
        }
        at = {};
        at.behind_templates = true;
    }
    std::set<std::string> shown;
    std::size_t first = 0;
    while (first < templates_->size() && templates_->number_of(first) < at.number) ++first;
    for (std::size_t i = lister_from(first); i < templates_->size(); i = lister_from(i + 1)) {
        if (templates_->number_of(i) != at.number) {  // the next template, or the current one was removed
            at = {};
            at.behind_templates = true;
            at.number = templates_->number_of(i);
        }
        if (room == 0 || !list_behind(*(*templates_)[i], *ctx, at, room, shown, out)) return write_next(out, at);
    }
}

/// The index at which to continue a page that was sent in part. The page may have changed since.
std::size_t resume_in(const std::vector<resource>& page, const list_position& at) {
    if (at.skip == 0) return 0;
    auto is_last = [&](const resource& r) { return digest_of(r.uri) == at.last_seen; };
    auto last = std::find_if(page.begin(), page.end(), is_last);
    if (last != page.end()) return static_cast<std::size_t>(last - page.begin()) + 1;
    // The last entry sent was removed; its successor has its index.
    return static_cast<std::size_t>(std::min<std::uint64_t>(at.skip - 1, page.size()));
}

/// Returns true if the template has no more entries; otherwise `at` is the position to continue at.
bool resource_lister::list_behind(const template_offer& t, context& ctx, list_position& at, std::size_t& room,
                                  std::set<std::string>& shown, detail::reply& out) const {
    // Limits the calls: a function that always returns an empty page with a `next` must not block a thread forever.
    constexpr unsigned max_calls = 100;
    for (unsigned calls = 0; room > 0 && calls < max_calls && !ctx.cancelled(); ++calls) {
        resource_page page = t.options.list(ctx, at.inner);
        for (std::size_t i = resume_in(page.resources, at); i < page.resources.size(); ++i) {
            if (room == 0) {
                at.skip = i;
                at.last_seen = digest_of(page.resources[i - 1].uri);
                return false;
            }
            if (show(page.resources[i], shown, out)) --room;
        }
        if (page.next.empty()) return true;
        auto refuse = [&](const char* why) {
            throw detail::bad_result("list of resource template \"" + t.about.uri_template + "\": " + why);
        };
        if (page.next == at.inner) refuse("`next` is the cursor that it was called with");
        if (page.next.size() > list_position::max_inner) refuse("`next` is too long");
        at.inner = std::move(page.next);
        at.skip = 0;
        at.last_seen = 0;
    }
    return false;
}

/// Returns false if the URI is already in the list.
bool resource_lister::show(const resource& r, std::set<std::string>& shown, detail::reply& out) const {
    check_resource(r);
    if (resources_->find(r.uri) || !shown.insert(r.uri).second) return false;
    if (!out.content.empty()) out.content += ',';
    if (!json::write(out.content, protocol::encode_for(revision_, r))) detail::throw_unexpressible();
    return true;
}

void write_list(result_text& result, detail::reply& r, protocol::revision rev, const server_core& server, const void*) {
    const bool modern = protocol::is_modern(rev);
    result.before += modern ? R"({"resultType":"complete","resources":[)" : R"({"resources":[)";
    std::string& out = result.after;
    out += ']';
    out += r.extra;
    if (modern) write_cache_hint(out, server.hint_for(protocol::method::resources_list));
    end_result(out, rev, server);
}

}  // namespace

invocation find_resource_list(const incoming& in, std::shared_ptr<const table<resource_offer>> resources,
                              std::shared_ptr<const table<template_offer>> templates, std::size_t page_size) {
    auto lister = std::make_shared<resource_lister>(in, std::move(resources), std::move(templates), page_size);
    invocation call;
    call.handler = &lister->handler();
    call.write = &write_list;
    call.offer = std::move(lister);
    return call;
}

}  // namespace keel::server_side
