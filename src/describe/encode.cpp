// Described values to JSON: as a json::value, and as text.

#include <keel/describe.hpp>

#include "describe/scalars.hpp"

namespace keel::inline KEEL_ABI::detail {

namespace {

// The accessors take a non-const pointer; encoding changes nothing.
void* reachable(const void* p) noexcept { return const_cast<void*>(p); }

const void* element_at(const void* first, std::size_t i, const type_table& element) noexcept {
    return static_cast<const char*>(first) + i * element.size;
}

const void* content_of(const type_table& t, const void* from) noexcept { return t.nullable->content(reachable(from)); }

bool is_empty(const field& f, const void* member) {
    const type_table& t = *f.type;
    switch (t.kind) {
        case shape::string: return static_cast<const std::string*>(member)->empty();
        case shape::list: return t.list->elements(reachable(member)).count == 0;
        case shape::bits: return t.bits->count(member) == 0;
        case shape::map:
            return t.map->each(member, nullptr, [](void*, std::string_view, const void*) { return false; });
        case shape::set: return t.set->each(member, nullptr, [](void*, const void*) { return false; });
        case shape::any: return static_cast<const json::value*>(member)->is_null();
        default: return f.as_made != nullptr && f.as_made(member);
    }
}

/// Absent members are omitted; absent elements are null.
bool absent(const field& f, const void* member) {
    if (f.type->kind == shape::nullable) return content_of(*f.type, member) == nullptr;
    return f.notes.omit_empty && is_empty(f, member);
}

/// The only element of a list that is encoded without an array, or nullptr.
const void* lone_element(const field& f, const void* member) noexcept {
    if (!f.notes.one_or_many) return nullptr;
    const auto [first, count] = f.type->list->elements(reachable(member));
    return count == 1 ? first : nullptr;
}

/// Members collected in `rest` must not override members of the struct.
bool is_known(const struct_table& table, std::string_view key) noexcept {
    if (!table.tag.empty() && key == table.tag) return true;
    for (std::size_t i = 0; i < table.count; ++i) {
        if (!table.fields[i].notes.rest && table.fields[i].wire == key) return true;
    }
    return false;
}

bool holds_nothing(const type_table& t, const void* from) noexcept {
    return t.variant->index(from) == std::variant_npos;
}

// ---- as a value ----

json::value encode_elements(const type_table& element, const void* first, std::size_t count,
                            const encode_filter* filter) {
    json::value made = json::array();
    made.reserve(count);
    for (std::size_t i = 0; i < count; ++i) made.push_back(encode(element, element_at(first, i, element), filter));
    return made;
}

json::value encode_object(const struct_table& table, const void* from, const encode_filter* filter) {
    json::value made = json::object();
    made.reserve(table.count + (table.tag.empty() ? 0 : 1));
    if (!table.tag.empty()) made.append(table.tag, table.tag_value);
    for (std::size_t i = 0; i < table.count; ++i) {
        const field& f = table.fields[i];
        if (f.notes.rest) continue;
        const void* member = f.reach(reachable(from));
        if (absent(f, member)) continue;
        if (filter != nullptr && !filter->keeps(filter->context, table, f, member)) continue;
        const void* lone = lone_element(f, member);
        made.append(f.wire, lone != nullptr ? encode(*f.type->element, lone, filter) : encode(*f.type, member, filter));
    }
    if (table.rest != nullptr) {
        const auto& rest = *static_cast<const json::value*>(table.rest->reach(reachable(from)));
        for (const json::member& m : rest.members()) {
            if (!is_known(table, m.key())) made.append(m.key(), m.content);
        }
    }
    return made;
}

json::value encode_map(const type_table& t, const void* from, const encode_filter* filter) {
    struct state {
        json::value made = json::object();
        const type_table& element;
        const encode_filter* filter;
    } s{.element = *t.element, .filter = filter};
    t.map->each(from, &s, [](void* context, std::string_view key, const void* content) {
        auto& [made, element, with] = *static_cast<state*>(context);
        made.append(key, encode(element, content, with));
        return true;
    });
    return std::move(s.made);
}

json::value encode_set(const type_table& t, const void* from, const encode_filter* filter) {
    struct state {
        json::value made = json::array();
        const type_table& element;
        const encode_filter* filter;
    } s{.element = *t.element, .filter = filter};
    t.set->each(from, &s, [](void* context, const void* each) {
        auto& [made, element, with] = *static_cast<state*>(context);
        made.push_back(encode(element, each, with));
        return true;
    });
    return std::move(s.made);
}

json::value encode_self(const type_table& t, const void* from, const encode_filter* filter) {
    json::value made = t.self->encode(from);
    return filter != nullptr ? filter->adapt(filter->context, t, std::move(made)) : made;
}

json::value encode_bits(const type_table& t, const void* from) {
    json::value made = json::array();
    for (std::size_t i = 0, n = t.bits->count(from); i < n; ++i) made.push_back(t.bits->test(from, i));
    return made;
}

}  // namespace

json::value encode(const type_table& t, const void* from, const encode_filter* filter) {
    switch (t.kind) {
        case shape::null: return nullptr;
        case shape::boolean: return *static_cast<const bool*>(from);
        case shape::integer:
            if (t.is_signed) return load_signed(t, from);
            return load_bits(t, from);
        case shape::real: return load_real(t, from);
        case shape::string: return *static_cast<const std::string*>(from);
        case shape::enumeration: {
            const enum_name* name = name_of_value(t, from);
            // `write_json` returns false for such a value.
            if (name == nullptr)
                throw json::error("cannot encode an enum value that has no name in KEEL_DESCRIBE_ENUM");
            return name->wire;
        }
        case shape::nullable: {
            const void* content = content_of(t, from);
            return content != nullptr ? encode(*t.element, content, filter) : nullptr;
        }
        case shape::list: {
            const auto [first, count] = t.list->elements(reachable(from));
            return encode_elements(*t.element, first, count, filter);
        }
        case shape::bits: return encode_bits(t, from);
        case shape::array: return encode_elements(*t.element, from, t.count, filter);
        case shape::map: return encode_map(t, from, filter);
        case shape::set: return encode_set(t, from, filter);
        case shape::variant:
            if (holds_nothing(t, from)) throw json::error("cannot encode a valueless variant");
            return encode(*t.alternatives[t.variant->index(from)], t.variant->content(from), filter);
        case shape::any: return *static_cast<const json::value*>(from);
        case shape::object: return encode_object(t.fields(), from, filter);
        case shape::self: return encode_self(t, from, filter);
    }
    return nullptr;
}

// ---- as text ----

namespace {

bool write_any(std::string& out, const type_table& t, const void* from);

bool write_elements(std::string& out, const type_table& element, const void* first, std::size_t count) {
    out += '[';
    for (std::size_t i = 0; i < count; ++i) {
        if (i != 0) out += ',';
        if (!write_any(out, element, element_at(first, i, element))) return false;
    }
    out += ']';
    return true;
}

/// A comma or the opening brace, then the name and a colon.
bool write_key(std::string& out, char& before, std::string_view name, bool plain) {
    out += before;
    before = ',';
    if (plain) {
        out += '"';
        out += name;
        out += "\":";
        return true;
    }
    if (!json::write_string(out, name)) return false;
    out += ':';
    return true;
}

bool write_object(std::string& out, const struct_table& table, const void* from) {
    char before = '{';
    if (!table.tag.empty()) {
        if (!write_key(out, before, table.tag, false) || !json::write_string(out, table.tag_value)) return false;
    }
    for (std::size_t i = 0; i < table.count; ++i) {
        const field& f = table.fields[i];
        if (f.notes.rest) continue;
        const void* member = f.reach(reachable(from));
        if (absent(f, member)) continue;
        if (!write_key(out, before, f.wire, f.plain)) return false;
        const void* lone = lone_element(f, member);
        if (!(lone != nullptr ? write_any(out, *f.type->element, lone) : write_any(out, *f.type, member))) return false;
    }
    if (table.rest != nullptr) {
        const auto& rest = *static_cast<const json::value*>(table.rest->reach(reachable(from)));
        for (const json::member& m : rest.members()) {
            if (is_known(table, m.key())) continue;
            if (!write_key(out, before, m.key(), false) || !json::write(out, m.content)) return false;
        }
    }
    if (before == '{') out += '{';
    out += '}';
    return true;
}

bool write_map(std::string& out, const type_table& t, const void* from) {
    struct state {
        std::string& out;
        const type_table& element;
        char before = '{';
    } s{.out = out, .element = *t.element};
    const bool good = t.map->each(from, &s, [](void* context, std::string_view key, const void* content) {
        auto& [text, element, before] = *static_cast<state*>(context);
        text += before;
        before = ',';
        if (!json::write_string(text, key)) return false;
        text += ':';
        return write_any(text, element, content);
    });
    if (s.before == '{') out += '{';
    out += '}';
    return good;
}

bool write_set(std::string& out, const type_table& t, const void* from) {
    struct state {
        std::string& out;
        const type_table& element;
        char before = '[';
    } s{.out = out, .element = *t.element};
    const bool good = t.set->each(from, &s, [](void* context, const void* each) {
        auto& [text, element, before] = *static_cast<state*>(context);
        text += before;
        before = ',';
        return write_any(text, element, each);
    });
    if (s.before == '[') out += '[';
    out += ']';
    return good;
}

void write_bits(std::string& out, const type_table& t, const void* from) {
    out += '[';
    for (std::size_t i = 0, n = t.bits->count(from); i < n; ++i) {
        if (i != 0) out += ',';
        out += t.bits->test(from, i) ? "true" : "false";
    }
    out += ']';
}

bool write_any(std::string& out, const type_table& t, const void* from) {
    switch (t.kind) {
        case shape::null: out += "null"; return true;
        case shape::boolean: out += *static_cast<const bool*>(from) ? "true" : "false"; return true;
        case shape::integer:
            if (t.is_signed) json::write_int(out, load_signed(t, from));
            else json::write_uint(out, load_bits(t, from));
            return true;
        case shape::real: return json::write_double(out, load_real(t, from));
        case shape::string: return json::write_string(out, *static_cast<const std::string*>(from));
        case shape::enumeration: {
            const enum_name* name = name_of_value(t, from);
            return name != nullptr && json::write_string(out, name->wire);
        }
        case shape::nullable: {
            const void* content = content_of(t, from);
            if (content != nullptr) return write_any(out, *t.element, content);
            out += "null";
            return true;
        }
        case shape::list: {
            const auto [first, count] = t.list->elements(reachable(from));
            return write_elements(out, *t.element, first, count);
        }
        case shape::bits: write_bits(out, t, from); return true;
        case shape::array: return write_elements(out, *t.element, from, t.count);
        case shape::map: return write_map(out, t, from);
        case shape::set: return write_set(out, t, from);
        case shape::variant:
            return !holds_nothing(t, from) &&
                   write_any(out, *t.alternatives[t.variant->index(from)], t.variant->content(from));
        case shape::any: return json::write(out, *static_cast<const json::value*>(from));
        case shape::object: return write_object(out, t.fields(), from);
        case shape::self: return t.self->write(out, from);
    }
    return false;
}

}  // namespace

bool write_json(std::string& out, const type_table& t, const void* from) {
    const std::size_t before = out.size();
    if (write_any(out, t, from)) return true;
    out.resize(before);
    return false;
}

}  // namespace keel::detail
