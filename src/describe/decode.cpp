// JSON to described values.
//
// The path is not tracked while values are valid. If a value is invalid, the innermost function sets the reason, and
// each caller prepends its own step to the path.

#include <keel/describe.hpp>

#include "describe/limits.hpp"
#include "describe/scalars.hpp"

#include <bit>
#include <cmath>

namespace keel::inline KEEL_ABI {

std::string decode_error::message() const { return path.empty() ? text : path + ": " + text; }

namespace detail {

namespace {

/// The error, if any, and the work spent on alternatives of variants. With nested variants a peer could make each level
/// be decoded again for each level above it, so repeated decoding is limited in proportion to the size of the input.
struct progress : decode_error {
    unsigned retries = 0;  // second and further alternatives that are being tried
    std::uint64_t spare = 1'000'000;

    bool pay() noexcept {
        if (retries == 0) spare += 16;
        else if (spare == 0) return false;
        else --spare;
        return true;
    }
};

bool decode_any(const type_table&, const json::value&, void* into, progress&);

// ---- error messages ----

std::string shortened(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;  // do not split a character
    return std::string(text.substr(0, most)) + "…";
}

/// Text from the peer, quoted and truncated.
std::string shown(std::string_view text) {
    std::string out;
    return json::write_string(out, shortened(text, 64)) ? out : "(invalid UTF-8)";
}

bool is_word(std::string_view key) noexcept {
    if (key.empty() || key.size() > 64) return false;
    for (char c : key) {
        const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                          c == '-' || c == '$';
        if (!good) return false;
    }
    return true;
}

void step_into(decode_error& e, std::string_view key) {
    e.path.insert(0, is_word(key) ? '.' + std::string(key) : '[' + shown(key) + ']');
}

void step_into(decode_error& e, std::size_t index) { e.path.insert(0, '[' + std::to_string(index) + ']'); }

bool fail(decode_error& e, std::string text) {
    e.path.clear();
    e.text = std::move(text);
    return false;
}

/// "string", "array or null", …
std::string words_for(const type_table& t) {
    switch (t.kind) {
        case shape::null: return "null";
        case shape::boolean: return "boolean";
        case shape::integer: return "integer";
        case shape::real: return "number";
        case shape::string:
        case shape::enumeration: return "string";
        case shape::nullable: return words_for(*t.element) + " or null";
        case shape::list:
        case shape::bits:
        case shape::array: return "array";
        case shape::map:
        case shape::object: return "object";
        case shape::self:
        case shape::any: return "anything";
        case shape::variant: {
            std::string words;
            for (std::size_t i = 0; i < t.count; ++i) {
                const std::string word = words_for(*t.alternatives[i]);
                if (i != 0 && words.find(word) != std::string::npos) continue;  // name each kind once
                if (i != 0) words += " or ";
                words += word;
            }
            return words;
        }
    }
    return {};
}

bool wrong_kind(decode_error& e, const type_table& t, const json::value& found) {
    return fail(e, "expected " + words_for(t) + ", found " + std::string(json::name_of(found.type())));
}

bool out_of_range(decode_error& e, const type_table& t, const json::value& found) {
    std::string text = "expected integer from " + std::to_string(smallest(t)) + " to " + std::to_string(largest(t));
    return fail(e, text + ", found " + json::to_string(found));
}

// ---- one function per shape ----

bool decode_integer(const type_table& t, const json::value& v, void* into, progress& e) {
    if (const auto n = v.if_int()) {
        const bool fits = t.is_signed ? *n >= smallest(t) && *n <= static_cast<std::int64_t>(largest(t))
                                      : *n >= 0 && static_cast<std::uint64_t>(*n) <= largest(t);
        if (!fits) return out_of_range(e, t, v);
        store_bits(t, into, static_cast<std::uint64_t>(*n));
        return true;
    }
    if (const auto n = v.if_uint()) {  // above the range of int64
        if (*n > largest(t)) return out_of_range(e, t, v);
        store_bits(t, into, *n);
        return true;
    }
    const auto real = v.if_double();
    if (!real) return wrong_kind(e, t, v);
    if (!std::isfinite(*real)) return fail(e, "expected integer, found NaN or infinity");
    if (std::trunc(*real) != *real) return fail(e, "expected integer, found " + json::to_string(v));
    // 2^63 and 2^64 are exact as doubles, their predecessors are not: compare with "less than".
    if (t.is_signed) {
        if (*real < -0x1p63 || *real >= 0x1p63) return out_of_range(e, t, v);
        const auto n = static_cast<std::int64_t>(*real);
        if (n < smallest(t) || n > static_cast<std::int64_t>(largest(t))) return out_of_range(e, t, v);
        store_bits(t, into, static_cast<std::uint64_t>(n));
    } else {
        if (*real < 0 || *real >= 0x1p64) return out_of_range(e, t, v);
        const auto n = static_cast<std::uint64_t>(*real);
        if (n > largest(t)) return out_of_range(e, t, v);
        store_bits(t, into, n);
    }
    return true;
}

bool decode_real(const type_table& t, const json::value& v, void* into, progress& e) {
    const auto real = v.if_double();
    if (!real) return wrong_kind(e, t, v);
    if (t.size == sizeof(double)) {
        *static_cast<double*>(into) = *real;
        return true;
    }
    const auto narrow = to_float(*real);
    if (!narrow) return fail(e, "expected number that fits a 32-bit float, found " + json::to_string(v));
    *static_cast<float*>(into) = *narrow;
    return true;
}

bool decode_enum(const type_table& t, const json::value& v, void* into, progress& e) {
    const auto text = v.if_string();
    if (!text) return wrong_kind(e, t, v);
    const enum_table& table = t.names();
    for (std::size_t i = 0; i < table.count; ++i) {
        if (table.names[i].wire == *text) {
            store_bits(t, into, table.names[i].bits);
            return true;
        }
    }
    std::string names;
    for (std::size_t i = 0; i < table.count; ++i) names += (i == 0 ? "" : ", ") + shown(table.names[i].wire);
    return fail(e, "expected one of " + names + ", found " + shown(*text));
}

bool decode_list(const type_table& t, const json::value& v, void* into, progress& e) {
    if (!v.is_array()) return wrong_kind(e, t, v);
    const auto items = v.items();
    t.list->start(into, items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!decode_any(*t.element, items[i], t.list->append(into), e)) {
            step_into(e, i);
            return false;
        }
    }
    return true;
}

bool decode_bits(const type_table& t, const json::value& v, void* into, progress& e) {
    if (!v.is_array()) return wrong_kind(e, t, v);
    const auto items = v.items();
    t.bits->resize(into, items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        const auto bit = items[i].if_bool();
        if (!bit) {
            wrong_kind(e, *t.element, items[i]);
            step_into(e, i);
            return false;
        }
        t.bits->assign(into, i, *bit);
    }
    return true;
}

bool decode_array(const type_table& t, const json::value& v, void* into, progress& e) {
    if (!v.is_array()) return wrong_kind(e, t, v);
    const auto items = v.items();
    if (items.size() != t.count) {
        return fail(e, "expected " + std::to_string(t.count) + (t.count == 1 ? " item" : " items") + ", found " +
                           std::to_string(items.size()));
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!decode_any(*t.element, items[i], static_cast<char*>(into) + i * t.element->size, e)) {
            step_into(e, i);
            return false;
        }
    }
    return true;
}

bool decode_map(const type_table& t, const json::value& v, void* into, progress& e) {
    if (!v.is_object()) return wrong_kind(e, t, v);
    t.map->clear(into);
    for (const json::member& m : v.members()) {
        if (!decode_any(*t.element, m.content, t.map->insert(into, m.key()), e)) {
            step_into(e, m.key());
            return false;
        }
    }
    return true;
}

bool has_tag(const type_table& t) noexcept { return t.kind == shape::object && !t.fields().tag.empty(); }

bool has_this_tag(const struct_table& table, const json::value& v) noexcept {
    const auto text = v[table.tag].if_string();
    return text && *text == table.tag_value;
}

bool may_be(const type_table& t, const json::value& v) noexcept {
    switch (t.kind) {
        case shape::null: return v.is_null();
        case shape::boolean: return v.is_bool();
        case shape::integer:
        case shape::real: return v.is_number();
        case shape::string:
        case shape::enumeration: return v.is_string();
        case shape::nullable: return v.is_null() || may_be(*t.element, v);
        case shape::list:
        case shape::bits:
        case shape::array: return v.is_array();
        case shape::map: return v.is_object();
        case shape::object: return v.is_object() && (!has_tag(t) || has_this_tag(t.fields(), v));
        case shape::self:
        case shape::any: return true;
        case shape::variant:
            for (std::size_t i = 0; i < t.count; ++i) {
                if (may_be(*t.alternatives[i], v)) return true;
            }
            return false;
    }
    return false;
}

/// No alternative has the right type. If the alternatives have tags, the error is about the tag.
bool no_alternative(const type_table& t, const json::value& v, progress& e) {
    std::string_view tag;
    std::string names;
    for (std::size_t i = 0; v.is_object() && i < t.count; ++i) {
        if (!has_tag(*t.alternatives[i])) continue;
        const struct_table& table = t.alternatives[i]->fields();
        if (tag.empty()) tag = table.tag;
        if (table.tag != tag) continue;
        names += (names.empty() ? "" : ", ") + shown(table.tag_value);
    }
    if (tag.empty()) return wrong_kind(e, t, v);
    const json::value* found = v.find(tag);
    if (found == nullptr) fail(e, "required");
    else if (const auto text = found->if_string()) fail(e, "expected one of " + names + ", found " + shown(*text));
    else fail(e, "expected string, found " + std::string(json::name_of(found->type())));
    step_into(e, tag);
    return false;
}

/// The first alternative that matches is used. If only one has the right JSON type, its error is reported. An object
/// with the tag of an alternative must match that alternative.
bool decode_variant(const type_table& t, const json::value& v, void* into, progress& e) {
    bool tagged = false;
    for (std::size_t i = 0; v.is_object() && i < t.count; ++i) {
        if (has_tag(*t.alternatives[i]) && has_this_tag(t.alternatives[i]->fields(), v)) tagged = true;
    }
    std::size_t tried = 0;
    std::string all;
    for (std::size_t i = 0; i < t.count; ++i) {
        if (!may_be(*t.alternatives[i], v) || (tagged && !has_tag(*t.alternatives[i]))) continue;
        if (tried != 0) ++e.retries;
        const bool fits = decode_any(*t.alternatives[i], v, t.variant->emplace(into, i), e);
        if (tried != 0) --e.retries;
        if (fits) return true;
        if (tried++ != 0) all += "; ";
        all += shortened(e.message(), 200);  // otherwise the text would double at each level of nested variants
    }
    if (tried == 0) return no_alternative(t, v, e);
    return tried == 1 ? false : fail(e, "matches no alternative (" + all + ")");
}

bool decode_self(const type_table& t, const json::value& v, void* into, progress& e) {
    if (t.self->decode(v, into, e)) return true;
    // The error is relative to the value: append its path to ours.
    if (!e.path.empty() && e.path[0] != '[' && e.path[0] != '.') e.path.insert(0, 1, '.');
    return false;
}

bool decode_one(const field& f, const json::value& v, void* member, progress& e) {
    f.type->list->start(member, 1);
    return decode_any(*f.type->element, v, f.type->list->append(member), e);
}

bool decode_field(const field& f, const json::value& v, void* object, progress& e) {
    const bool one = f.notes.one_or_many && !v.is_array();
    if (one ? decode_one(f, v, f.reach(object), e) : decode_any(*f.type, v, f.reach(object), e)) [[likely]] {
        if (!f.notes.limited) [[likely]]
            return true;
        std::string why;
        if (within_limits(f.notes, v, why)) return true;
        fail(e, std::move(why));
    }
    step_into(e, f.wire);
    return false;
}

bool wrong_tag(const struct_table& table, const json::value& v, progress& e) {
    const json::value* found = v.find(table.tag);
    if (found == nullptr) fail(e, "required");
    else if (const auto text = found->if_string())
        fail(e, "expected " + shown(table.tag_value) + ", found " + shown(*text));
    else fail(e, "expected string, found " + std::string(json::name_of(found->type())));
    step_into(e, table.tag);
    return false;
}

bool decode_object(const struct_table& table, const type_table& t, const json::value& v, void* into, progress& e) {
    if (!v.is_object()) return wrong_kind(e, t, v);
    if (!table.tag.empty() && !has_this_tag(table, v)) return wrong_tag(table, v, e);
    json::value* rest = nullptr;
    if (table.rest != nullptr) {
        rest = static_cast<json::value*>(table.rest->reach(into));
        *rest = nullptr;
    }
    std::uint64_t seen = 0;
    std::size_t next = 0;  // members usually arrive in the order of the fields
    for (const json::member& m : v.members()) {
        const std::string_view key = m.key();
        std::size_t tried = 0;
        for (; tried < table.count; ++tried) {
            const std::size_t i = next;
            if (++next == table.count) next = 0;
            if (table.fields[i].wire != key || table.fields[i].notes.rest) continue;
            seen |= std::uint64_t{1} << i;
            if (!decode_field(table.fields[i], m.content, into, e)) return false;
            break;
        }
        if (rest != nullptr && tried == table.count && (table.tag.empty() || key != table.tag)) {
            if (rest->is_null()) *rest = json::object();
            rest->append(key, m.content);  // keys of an object are unique
        }
    }
    const std::uint64_t missing = table.required & ~seen;
    if (missing == 0) return true;
    fail(e, "required");
    step_into(e, table.fields[std::countr_zero(missing)].wire);
    return false;
}

bool decode_any(const type_table& t, const json::value& v, void* into, progress& e) {
    if (!e.pay()) return fail(e, "too many combinations of variant alternatives");
    switch (t.kind) {
        case shape::null: return v.is_null() || wrong_kind(e, t, v);
        case shape::boolean:
            if (const auto b = v.if_bool()) {
                *static_cast<bool*>(into) = *b;
                return true;
            }
            return wrong_kind(e, t, v);
        case shape::integer: return decode_integer(t, v, into, e);
        case shape::real: return decode_real(t, v, into, e);
        case shape::string:
            if (const auto text = v.if_string()) {
                static_cast<std::string*>(into)->assign(*text);
                return true;
            }
            return wrong_kind(e, t, v);
        case shape::enumeration: return decode_enum(t, v, into, e);
        case shape::nullable:
            // An optional json::value holds the null itself, so that it differs from a missing member.
            if (v.is_null() && t.element->kind != shape::any) {
                t.nullable->reset(into);
                return true;
            }
            return decode_any(*t.element, v, t.nullable->emplace(into), e);
        case shape::list: return decode_list(t, v, into, e);
        case shape::bits: return decode_bits(t, v, into, e);
        case shape::array: return decode_array(t, v, into, e);
        case shape::map: return decode_map(t, v, into, e);
        case shape::variant: return decode_variant(t, v, into, e);
        case shape::any: *static_cast<json::value*>(into) = v; return true;
        case shape::object: return decode_object(t.fields(), t, v, into, e);
        case shape::self: return decode_self(t, v, into, e);
    }
    return false;
}

}  // namespace

bool decode(const type_table& t, const json::value& v, void* into, decode_error& error, std::string_view prefix) {
    progress p;
    if (decode_any(t, v, into, p)) return true;
    error = std::move(static_cast<decode_error&>(p));
    if (!prefix.empty()) error.path.insert(0, prefix);
    else if (error.path.starts_with('.')) error.path.erase(0, 1);
    return false;
}

void throw_decode_error(const decode_error& e) { throw json::error(e.message()); }

}  // namespace detail
}  // namespace keel
