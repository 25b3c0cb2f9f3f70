// JSON to described values.
//
// The path is not tracked while values are valid. If a value is invalid, the innermost function sets the reason, and
// each caller prepends its own step to the path. Decoding stops at the first error; a second run, which collects all
// errors, continues with the next element or member.

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
    std::vector<decode_error>* all = nullptr;  // if set, errors are collected there instead of in *this
    static constexpr std::size_t most = 20;
    std::size_t collected() const noexcept { return all != nullptr ? all->size() : 0; }

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

/// Prepends a step to the path of the error, or of the errors that were collected since there were `mark`.
void prepend(progress& e, std::size_t mark, std::string_view step) {
    if (e.all == nullptr) e.path.insert(0, step);
    for (std::size_t i = mark; i < e.collected(); ++i) (*e.all)[i].path.insert(0, step);
}

void step_into(progress& e, std::size_t mark, std::string_view key) {
    prepend(e, mark, is_word(key) ? '.' + std::string(key) : '[' + shown(key) + ']');
}

void step_into(progress& e, std::size_t mark, std::size_t index) {
    prepend(e, mark, '[' + std::to_string(index) + ']');
}

/// A part of a container is invalid. Returns true if decoding goes on. `mark` is the number of errors that were collected
/// before this part; it is updated. (Valid parts add none, so a container needs one mark.)
template <class Step>
bool failed_in(progress& e, std::size_t& mark, const Step& step, bool& good) {
    good = false;
    step_into(e, mark, step);
    mark = e.collected();
    return e.all != nullptr && mark < progress::most;
}

bool fail(progress& e, std::string text) {
    if (e.all != nullptr) {
        e.all->push_back({{}, std::move(text)});
        return false;
    }
    e.path.clear();
    e.text = std::move(text);
    return false;
}

/// An error in a member.
bool fail_in(progress& e, std::string_view key, std::string text) {
    const std::size_t mark = e.collected();
    fail(e, std::move(text));
    step_into(e, mark, key);
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
        case shape::set:
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

bool wrong_kind(progress& e, const type_table& t, const json::value& found) {
    return fail(e, "expected " + words_for(t) + ", found " + std::string(json::name_of(found.type())));
}

bool out_of_range(progress& e, const type_table& t, const json::value& found) {
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
    std::size_t mark = e.collected();
    bool good = true;
    t.list->start(into, items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!decode_any(*t.element, items[i], t.list->append(into), e) && !failed_in(e, mark, i, good)) return false;
    }
    return good;
}

bool decode_bits(const type_table& t, const json::value& v, void* into, progress& e) {
    if (!v.is_array()) return wrong_kind(e, t, v);
    const auto items = v.items();
    std::size_t mark = e.collected();
    bool good = true;
    t.bits->resize(into, items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        bool bit = false;
        if (!decode_any(*t.element, items[i], &bit, e) && !failed_in(e, mark, i, good)) return false;
        t.bits->assign(into, i, bit);
    }
    return good;
}

bool decode_array(const type_table& t, const json::value& v, void* into, progress& e) {
    if (!v.is_array()) return wrong_kind(e, t, v);
    const auto items = v.items();
    if (items.size() != t.count) {
        return fail(e, "expected " + std::to_string(t.count) + (t.count == 1 ? " item" : " items") + ", found " +
                           std::to_string(items.size()));
    }
    std::size_t mark = e.collected();
    bool good = true;
    for (std::size_t i = 0; i < items.size(); ++i) {
        void* element = static_cast<char*>(into) + i * t.element->size;
        if (!decode_any(*t.element, items[i], element, e) && !failed_in(e, mark, i, good)) return false;
    }
    return good;
}

bool decode_set(const type_table& t, const json::value& v, void* into, progress& e) {
    if (!v.is_array()) return wrong_kind(e, t, v);
    struct state {
        const type_table& element;
        const json::value* from;
        progress& e;
    } s{.element = *t.element, .from = nullptr, .e = e};
    const auto fill = [](void* context, void* element) {
        const state& now = *static_cast<state*>(context);
        return decode_any(now.element, *now.from, element, now.e);
    };
    t.set->clear(into);
    const auto items = v.items();
    std::size_t mark = e.collected();
    bool good = true;
    for (std::size_t i = 0; i < items.size(); ++i) {
        s.from = &items[i];
        const auto outcome = t.set->insert(into, &s, fill);
        if (outcome == set_ops::outcome::added) continue;
        if (outcome == set_ops::outcome::duplicate) fail(e, "expected unique items");
        if (!failed_in(e, mark, i, good)) return false;
    }
    return good;
}

bool decode_map(const type_table& t, const json::value& v, void* into, progress& e) {
    if (!v.is_object()) return wrong_kind(e, t, v);
    t.map->clear(into);
    std::size_t mark = e.collected();
    bool good = true;
    for (const json::member& m : v.members()) {
        if (!decode_any(*t.element, m.content, t.map->insert(into, m.key()), e) && !failed_in(e, mark, m.key(), good)) {
            return false;
        }
    }
    return good;
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
        case shape::set:
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
    if (found == nullptr) return fail_in(e, tag, "required");
    if (const auto text = found->if_string()) {
        return fail_in(e, tag, "expected one of " + names + ", found " + shown(*text));
    }
    return fail_in(e, tag, "expected string, found " + std::string(json::name_of(found->type())));
}

/// The first alternative that matches is used. If only one has the right JSON type, its error is reported. An object
/// with the tag of an alternative must match that alternative.
bool decode_variant(const type_table& t, const json::value& v, void* into, progress& e) {
    bool tagged = false;
    for (std::size_t i = 0; v.is_object() && i < t.count; ++i) {
        if (has_tag(*t.alternatives[i]) && has_this_tag(t.alternatives[i]->fields(), v)) tagged = true;
    }
    std::size_t candidates = 0;
    for (std::size_t i = 0; e.all != nullptr && i < t.count; ++i) {
        candidates += may_be(*t.alternatives[i], v) && (!tagged || has_tag(*t.alternatives[i])) ? 1 : 0;
    }
    // Errors of several alternatives are summarized in one.
    std::vector<decode_error>* const collected = e.all;
    if (candidates > 1) e.all = nullptr;
    std::size_t tried = 0;
    std::string all;
    bool fits = false;
    for (std::size_t i = 0; i < t.count; ++i) {
        if (!may_be(*t.alternatives[i], v) || (tagged && !has_tag(*t.alternatives[i]))) continue;
        if (tried != 0) ++e.retries;
        fits = decode_any(*t.alternatives[i], v, t.variant->emplace(into, i), e);
        if (tried != 0) --e.retries;
        if (fits) break;
        if (tried++ != 0) all += "; ";
        all += shortened(e.message(), 200);  // otherwise the text would double at each level of nested variants
    }
    e.all = collected;
    if (fits) return true;
    if (tried == 0) return no_alternative(t, v, e);
    return tried == 1 ? false : fail(e, "matches no alternative (" + all + ")");
}

bool decode_self(const type_table& t, const json::value& v, void* into, progress& e) {
    if (t.self->decode(v, into, e)) return true;
    // The error is relative to the value: append its path to ours.
    if (!e.path.empty() && e.path[0] != '[' && e.path[0] != '.') e.path.insert(0, 1, '.');
    if (e.all != nullptr) {
        e.all->push_back(std::move(static_cast<decode_error&>(e)));
        static_cast<decode_error&>(e) = {};
    }
    return false;
}

bool decode_one(const field& f, const json::value& v, void* member, progress& e) {
    f.type->list->start(member, 1);
    return decode_any(*f.type->element, v, f.type->list->append(member), e);
}

/// The path of the error does not contain the field yet.
bool decode_field(const field& f, const json::value& v, void* object, progress& e) {
    const bool one = f.notes.one_or_many && !v.is_array();
    if (!(one ? decode_one(f, v, f.reach(object), e) : decode_any(*f.type, v, f.reach(object), e))) [[unlikely]]
        return false;
    if (!f.notes.limited) [[likely]]
        return true;
    std::string why;
    return within_limits(f.notes, v, why) || fail(e, std::move(why));
}

bool wrong_tag(const struct_table& table, const json::value& v, progress& e) {
    const json::value* found = v.find(table.tag);
    if (found == nullptr) return fail_in(e, table.tag, "required");
    if (const auto text = found->if_string()) {
        return fail_in(e, table.tag, "expected " + shown(table.tag_value) + ", found " + shown(*text));
    }
    return fail_in(e, table.tag, "expected string, found " + std::string(json::name_of(found->type())));
}

bool decode_object(const struct_table& table, const type_table& t, const json::value& v, void* into, progress& e) {
    if (!v.is_object()) return wrong_kind(e, t, v);
    if (!table.tag.empty() && !has_this_tag(table, v)) return wrong_tag(table, v, e);
    json::value* rest = nullptr;
    if (table.rest != nullptr) {
        rest = static_cast<json::value*>(table.rest->reach(into));
        *rest = nullptr;
    }
    std::size_t mark = e.collected();
    bool good = true;
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
            if (!decode_field(table.fields[i], m.content, into, e) && !failed_in(e, mark, key, good)) return false;
            break;
        }
        if (rest != nullptr && tried == table.count && (table.tag.empty() || key != table.tag)) {
            if (rest->is_null()) *rest = json::object();
            rest->append(key, m.content);  // keys of an object are unique
        }
    }
    for (std::uint64_t missing = table.required & ~seen; missing != 0; missing &= missing - 1) {
        fail(e, "required");
        if (!failed_in(e, mark, table.fields[std::countr_zero(missing)].wire, good)) return false;
    }
    return good;
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
        case shape::set: return decode_set(t, v, into, e);
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

std::vector<decode_error> all_decode_errors(const type_table& t, const json::value& v, void* into,
                                            std::string_view prefix) {
    std::vector<decode_error> all;
    progress p;
    p.all = &all;
    decode_any(t, v, into, p);
    for (decode_error& e : all) {
        if (!prefix.empty()) e.path.insert(0, prefix);
        else if (e.path.starts_with('.')) e.path.erase(0, 1);
    }
    return all;
}

void throw_decode_error(const decode_error& e) { throw json::error(e.message()); }

}  // namespace detail
}  // namespace keel
