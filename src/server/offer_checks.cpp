#include "server/offer_checks.hpp"

#include "protocol/meta_keys.hpp"
#include "protocol/uri.hpp"

#include <stdexcept>

namespace keel::inline KEEL_ABI::server_side {

void offer_checks::refuse(std::string_view field, std::string_view why) const {
    std::string name(json::is_utf8(name_) ? name_ : std::string_view("?"));
    throw std::invalid_argument("keel: " + std::string(kind_) + " \"" + name + "\": " + std::string(field) + ": " +
                                std::string(why));
}

void offer_checks::text(std::string_view field, std::string_view value) const {
    if (!json::is_utf8(value)) refuse(field, "must be UTF-8");
}

void offer_checks::not_empty(std::string_view field, std::string_view value) const {
    if (value.empty()) refuse(field, "must not be empty");
    text(field, value);
}

void offer_checks::meta(const json::value& meta) const {
    if (meta.is_null()) return;
    if (!meta.is_object()) refuse("meta", "must be a JSON object");
    for (const json::member& m : meta.members()) {
        if (!protocol::is_valid_meta_key(m.key()))
            refuse("meta", "\"" + std::string(m.key()) + "\" is not a valid key");
    }
    std::string text;
    if (!json::write(text, meta)) refuse("meta", "is not valid JSON");
}

void offer_checks::notes(const std::optional<annotations>& notes) const {
    if (!notes) return;
    text("annotations.last_modified", notes->last_modified);
    // Written so that NaN is rejected too.
    if (notes->priority && !(*notes->priority >= 0 && *notes->priority <= 1)) {
        refuse("annotations.priority", "must be between 0 and 1");
    }
}

void offer_checks::icons(const std::vector<icon>& icons) const {
    for (const icon& each : icons) {
        if (!protocol::is_valid_uri(each.source)) refuse("icons", "source must be a valid URI");
        text("icons", each.mime_type);
        for (const std::string& size : each.sizes) text("icons", size);
    }
}

void offer_checks::cache(const std::optional<cache_hint>& hint) const {
    if (hint && hint->ttl.count() < 0) refuse("cache", "ttl must not be negative");
}

}  // namespace keel::server_side
