#include "schema/runner.hpp"

#include "schema/error_messages.hpp"

#include <algorithm>
#include <utility>

namespace keel::inline KEEL_ABI::validation {

namespace {

/// Restores the depth on destruction.
struct borrowed_level {
    std::size_t& depth;
    explicit borrowed_level(std::size_t& d) noexcept : depth(d) { --depth; }
    ~borrowed_level() { ++depth; }
    borrowed_level(const borrowed_level&) = delete;
    borrowed_level& operator=(const borrowed_level&) = delete;
};

std::size_t characters(std::string_view text) noexcept {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

constexpr type_set bits_of(json::kind k) noexcept {
    constexpr type_set bits[] = {types::null,
                                 types::boolean,
                                 types::integer | types::number,
                                 types::integer | types::number,
                                 types::number,
                                 types::string,
                                 types::array,
                                 types::object};
    return bits[static_cast<std::size_t>(k)];
}

constexpr const char* too_deep = "nested too deeply";

}  // namespace

inline bool runner::fits(type_set allowed, const json::value& v) noexcept {
    if (allowed & bits_of(v.type())) [[likely]]
        return true;
    return (allowed & types::integer) && v.type() == json::kind::real && is_integral(v);
}

bool runner::stop(const char* why) noexcept {
    if (!stopped_) stopped_ = why;
    work_ = 0;
    return false;
}

template <class Step>
bool runner::refused_in(const Step& step) {
    if (error_) [[unlikely]]
        words::step_into(*error_, step);
    return false;
}

template <class Step>
bool runner::refused_part(const Step& step, std::size_t& mark) {
    if (!error_ || !all_) return refused_in(step);
    if (!error_->text.empty()) all_->push_back(std::exchange(*error_, {}));
    for (std::size_t i = mark; i != all_->size(); ++i) words::step_into((*all_)[i], step);
    mark = all_->size();
    return mark < most_errors && !stopped_;
}

bool runner::test(index at, const json::value& v, marks* seen) {
    decode_error* const error = std::exchange(error_, nullptr);
    const bool answer = check(at, v, seen);
    error_ = error;
    return answer;
}

inline bool runner::check(index at, const json::value& v, marks* seen) {
    const node& n = nodes_[at];
    if (!spend(1)) [[unlikely]]
        return refuse([&] { return std::string(stopped_); });
    if (!fits(n.allowed, v)) return refuse([&] { return words::wrong_type(n.allowed, v); });
    return n.plain || check_rules(n, v, seen);
}

// Must be in this file: check is defined inline here, so other files cannot call it.
bool runner::accepts(const json::value& v) { return check(p_.root, v, nullptr); }

bool runner::check_rules(const node& n, const json::value& v, marks* seen) {
    if (depth_ == 0) {
        stop(too_deep);
        return refuse([&] { return std::string(stopped_); });
    }
    const borrowed_level level(depth_);
    if (!p_.dynamic_anchors.empty() && (!scope_ || scope_->resource != n.resource)) return check_scoped(n, v, seen);
    return check_unevaluated(n, v, seen);
}

bool runner::check_scoped(const node& n, const json::value& v, marks* seen) {
    const scope here{scope_, n.resource};
    scope_ = &here;
    const bool answer = check_unevaluated(n, v, seen);
    scope_ = here.outer;
    return answer;
}

bool runner::check_unevaluated(const node& n, const json::value& v, marks* seen) {
    const bool object = v.is_object();
    const index rest = object ? n.unevaluated_properties : v.is_array() ? n.unevaluated_items : none;
    if (rest == none) [[likely]]
        return check_parts(n, v, seen);

    if (!spend(v.size() / 8)) return refuse([&] { return std::string(stopped_); });
    marks own(v.size());
    if (!check_parts(n, v, &own)) return false;
    const std::size_t before = collected();
    std::size_t mark = before;
    for (std::size_t i = 0; i != v.size(); ++i) {
        if (own.test(i)) continue;
        if (object) {
            const json::member& m = v.members()[i];
            if (!check(rest, m.content, nullptr) && !refused_part(m.key(), mark)) return false;
        } else if (!check(rest, v.items()[i], nullptr) && !refused_part(i, mark)) {
            return false;
        }
    }
    if (mark != before) return false;
    if (seen) seen->set_first(v.size());
    return true;
}

// Cheap and informative checks first.
bool runner::check_parts(const node& n, const json::value& v, marks* seen) {
    if (n.values != none && !check_values(p_.values[n.values], v)) return false;
    switch (v.type()) {
        case json::kind::integer:
        case json::kind::unsigned_integer:
        case json::kind::real:
            if (n.numbers != none && !check_number(p_.numbers[n.numbers], v)) return false;
            break;
        case json::kind::string:
            if (n.strings != none && !check_string(p_.strings[n.strings], *v.if_string())) return false;
            break;
        case json::kind::array:
            if (n.arrays != none && !check_array(p_.arrays[n.arrays], v, seen)) return false;
            break;
        case json::kind::object:
            if (n.objects != none && !check_object(p_.objects[n.objects], v, seen)) return false;
            break;
        case json::kind::null:
        case json::kind::boolean: break;
    }
    return n.logic == none || check_logic(p_.logic[n.logic], v, seen);
}

// ---- scalars ----

bool runner::check_values(const value_rules& rules, const json::value& v) {
    if (const auto text = v.if_string()) {
        const auto before = [](const std::string& a, std::string_view b) {
            return a.size() != b.size() ? a.size() < b.size() : a < b;
        };
        const auto at = std::lower_bound(rules.texts.begin(), rules.texts.end(), *text, before);
        if (at != rules.texts.end() && *at == *text) return true;
    } else {
        for (const constant& c : rules.others) {
            // Only deep comparisons count as work.
            const bool deep = c.content.type() == v.type() && c.content.size() == v.size();
            if (!spend(deep ? c.weight : 1)) return refuse([&] { return std::string(stopped_); });
            if (c.content == v) return true;
        }
    }
    return refuse([&] { return words::wrong_value(rules, v); });
}

bool runner::check_number(const number_rules& r, const json::value& v) {
    // Written so that NaN never matches.
    if ((r.minimum.is_null() || compare(v, r.minimum) >= 0) && (r.maximum.is_null() || compare(v, r.maximum) <= 0) &&
        (r.exclusive_minimum.is_null() || compare(v, r.exclusive_minimum) > 0) &&
        (r.exclusive_maximum.is_null() || compare(v, r.exclusive_maximum) < 0) &&
        (r.multiple_of.is_null() || is_multiple(v, r.multiple_of_decimal)))
        return true;
    return refuse([&] { return words::wrong_number(r, v); });
}

bool runner::found(const pattern& p, std::string_view text, bool& is_found) {
    // A search takes one step per byte, or in the worst case one per byte and instruction.
    if (!spend(text.size() / 1024 * p.size() + text.size() % 1024 * p.size() / 1024)) {
        return refuse([&] { return std::string(stopped_); });
    }
    is_found = p.found_in(text);
    return true;
}

bool runner::check_string(const string_rules& r, std::string_view text) {
    // A character has one to four bytes: often the size in bytes is sufficient.
    const bool surely = text.size() <= r.max_length && text.size() / 4 >= r.min_length;
    if (!surely) {
        if (!spend(text.size() / 1024)) return refuse([&] { return std::string(stopped_); });
        const std::size_t n = characters(text);
        if (n < r.min_length || n > r.max_length) {
            return refuse([&] { return words::wrong_count(n, r.min_length, r.max_length, "character"); });
        }
    }
    if (r.format) {
        if (!spend(text.size() / 256)) return refuse([&] { return std::string(stopped_); });
        if (!r.format(text)) {
            return refuse([&] { return "expected the format " + r.format_name + ", found " + words::shown(text); });
        }
    }
    if (r.pattern != none) {
        bool is_found = false;
        const pattern& p = *p_.patterns[r.pattern];
        if (!found(p, text, is_found)) return false;
        if (!is_found) {
            return refuse([&] {
                return "expected a string matching the pattern " + words::shown(std::string_view(p.source())) +
                       ", found " + words::shown(text);
            });
        }
    }
    return true;
}

// ---- arrays ----

bool runner::check_array(const array_rules& r, const json::value& v, marks* seen) {
    const auto items = v.items();
    if (items.size() < r.min_items || items.size() > r.max_items) {
        return refuse([&] { return words::wrong_count(items.size(), r.min_items, r.max_items, "item"); });
    }
    const std::size_t before = collected();
    std::size_t mark = before;
    const std::size_t prefix = std::min(items.size(), r.prefix.size());
    for (std::size_t i = 0; i != prefix; ++i) {
        if (!check(r.prefix[i], items[i], nullptr) && !refused_part(i, mark)) return false;
    }
    if (r.items != none) {
        for (std::size_t i = prefix; i != items.size(); ++i) {
            if (!check(r.items, items[i], nullptr) && !refused_part(i, mark)) return false;
        }
    }
    if (mark != before) return false;
    if (seen) seen->set_first(r.items != none ? items.size() : prefix);
    if (r.contains != none && !check_contains(r, v, seen)) return false;
    if (r.unique && items.size() > 1 && !all_different(items)) {
        return refuse([&] { return std::string(stopped_ ? stopped_ : "expected unique items"); });
    }
    return true;
}

bool runner::check_contains(const array_rules& r, const json::value& v, marks* seen) {
    std::size_t count = 0;
    const auto items = v.items();
    if (!r.contains_evaluates) seen = nullptr;
    for (std::size_t i = 0; i != items.size(); ++i) {
        if (!seen && count >= r.min_contains && r.max_contains == unlimited) break;
        if (!test(r.contains, items[i], nullptr)) continue;
        ++count;
        if (seen) seen->set(i);
    }
    if (stopped_) return refuse([&] { return std::string(stopped_); });
    if (count >= r.min_contains && count <= r.max_contains) return true;
    return refuse(
        [&] { return words::wrong_count(count, r.min_contains, r.max_contains, "item") + " matching \"contains\""; });
}

// ---- objects ----

bool runner::check_object(const object_rules& r, const json::value& v, marks* seen) {
    const auto members = v.members();
    if (members.size() < r.min_properties || members.size() > r.max_properties) {
        return refuse(
            [&] { return words::wrong_count(members.size(), r.min_properties, r.max_properties, "property"); });
    }
    if (!spend(members.size())) return refuse([&] { return std::string(stopped_); });
    std::size_t next = 0;
    std::size_t required = 0;  // keys are unique, so counting is sufficient
    const std::size_t before = collected();
    std::size_t mark = before;
    for (std::size_t i = 0; i != members.size(); ++i) {
        bool known = false;
        if (!check_member(r, members[i], next, required, known, mark)) return false;
        if (known && seen) seen->set(i);
    }
    if (required != r.properties.required()) {
        if (error_) {
            for (const property& p : r.properties.all()) {
                if (!p.required || v.contains(p.name)) continue;
                refuse([] { return std::string("required"); });
                if (!refused_part(std::string_view(p.name), mark)) return false;
            }
        }
        return false;
    }
    if (mark != before) return false;
    if (r.dependent_required.empty() && r.dependent_schemas.empty()) [[likely]]
        return true;
    return check_dependents(r, v, seen);
}

inline bool runner::check_member(const object_rules& r, const json::member& m, std::size_t& next, std::size_t& required,
                                 bool& known, std::size_t& mark) {
    const std::string_view key = m.key();
    if (const property* p = r.properties.find(key, next)) [[likely]] {
        required += p->required;
        if (p->schema != none) {
            known = true;
            if (!check(p->schema, m.content, nullptr) && !refused_part(key, mark)) return false;
        }
    }
    for (const pattern_property& p : r.patterns) {
        bool is_found = false;
        if (!found(*p_.patterns[p.pattern], key, is_found)) return false;
        if (!is_found) continue;
        known = true;
        if (!check(p.schema, m.content, nullptr) && !refused_part(key, mark)) return false;
    }
    if (!known && r.additional != none) {
        known = true;
        if (!check(r.additional, m.content, nullptr)) {
            if (nodes_[r.additional].allowed == 0) refuse([] { return std::string("unknown property"); });
            if (!refused_part(key, mark)) return false;
        }
    }
    if (r.names != none && !check(r.names, m.name, nullptr)) {
        if (error_) error_->text = "property name: " + error_->text;
        if (!refused_part(key, mark)) return false;
    }
    return true;
}

bool runner::check_dependents(const object_rules& r, const json::value& v, marks* seen) {
    const std::size_t search = 1 + v.size() / 8;
    for (const dependent_names& d : r.dependent_required) {
        if (!spend(search)) return refuse([&] { return std::string(stopped_); });
        if (!v.contains(d.name)) continue;
        for (const std::string& needed : d.needs) {
            if (!spend(search)) return refuse([&] { return std::string(stopped_); });
            if (v.contains(needed)) continue;
            refuse([&] { return "required because of " + words::shown(std::string_view(d.name)); });
            return refused_in(std::string_view(needed));
        }
    }
    for (const dependent_schema& d : r.dependent_schemas) {
        if (!spend(search)) return refuse([&] { return std::string(stopped_); });
        if (v.contains(d.name) && !check(d.schema, v, seen)) return false;
    }
    return true;
}

// ---- combinations ----

bool runner::check_logic(const logic_rules& r, const json::value& v, marks* seen) {
    for (const index i : r.all_of) {
        if (!check(i, v, seen)) return false;
    }
    if (r.dynamic_target != none && !check(dynamic_target(r), v, seen)) return false;
    if (!r.any_of.empty() && !check_any_of(r.any_of, v, seen)) return false;
    if (!r.one_of.empty() && !check_one_of(r.one_of, v, seen)) return false;
    if (r.not_ != none) {
        const bool matches = test(r.not_, v, nullptr);
        if (stopped_) return refuse([&] { return std::string(stopped_); });
        if (matches) return refuse([&] { return "is forbidden by the schema: " + words::shown(v); });
    }
    return r.if_ == none || check_if(r, v, seen);
}

index runner::dynamic_target(const logic_rules& r) const noexcept {
    index target = r.dynamic_target;
    if (r.dynamic_name == none) return target;
    for (const scope* s = scope_; s; s = s->outer) {
        const index here = p_.dynamic_anchors[std::size_t{r.dynamic_name} * p_.resources + s->resource];
        if (here != none) target = here;  // the outermost one is used
    }
    return target;
}

bool runner::check_any_of(const std::vector<index>& all, const json::value& v, marks* seen) {
    bool any = false;
    if (seen) {  // collect the evaluated members of every matching alternative
        for (const index i : all) {
            if (!spend(v.size() / 8)) break;
            marks own(v.size());
            if (!test(i, v, &own)) continue;
            any = true;
            seen->add(own);
        }
    } else {
        for (const index i : all) {
            if (test(i, v, nullptr)) return true;
            if (stopped_) break;
        }
    }
    if (stopped_) return refuse([&] { return std::string(stopped_); });
    return any || refuse_all(all, v);
}

bool runner::check_one_of(const std::vector<index>& all, const json::value& v, marks* seen) {
    std::size_t fitting = 0;
    for (const index i : all) {
        bool fits_this = false;
        if (seen) {
            if (!spend(v.size() / 8)) break;
            marks own(v.size());
            fits_this = test(i, v, &own);
            if (fits_this) seen->add(own);
        } else {
            fits_this = test(i, v, nullptr);
        }
        if (stopped_) break;
        if (fits_this && ++fitting == 2) break;
    }
    if (stopped_) return refuse([&] { return std::string(stopped_); });
    if (fitting == 0) return refuse_all(all, v);
    return fitting == 1 ||
           refuse([] { return std::string("matches more than one alternative, but exactly one is allowed"); });
}

/// No alternative matches. The error with the longest path is the most useful, since its alternative matched the
/// longest. If all are about the value itself, they are listed.
bool runner::refuse_all(const std::vector<index>& all, const json::value& v) {
    if (!error_) return false;
    decode_error* const into = error_;
    std::vector<decode_error>* const all_errors = std::exchange(all_, nullptr);  // the result is one error
    decode_error deepest;
    std::string listed;
    constexpr std::size_t most = 5;
    for (std::size_t i = 0; i != std::min(most, all.size()); ++i) {
        decode_error one;
        error_ = &one;
        check(all[i], v, nullptr);
        if (one.path.size() > deepest.path.size()) deepest = one;
        const std::string text = words::shortened(one.text, 200);
        if (listed.find(text) == listed.npos) (listed += listed.empty() ? "" : "; or ") += text;
    }
    error_ = into;
    all_ = all_errors;
    if (!deepest.path.empty()) *into = std::move(deepest);
    else *into = {{}, std::move(listed)};
    if (stopped_) into->text = stopped_;
    return false;
}

bool runner::check_if(const logic_rules& r, const json::value& v, marks* seen) {
    bool holds = false;
    if (seen) {
        if (!spend(v.size() / 8)) return refuse([&] { return std::string(stopped_); });
        marks own(v.size());
        holds = test(r.if_, v, &own);
        if (holds) seen->add(own);
    } else {
        if (r.then_ == none && r.else_ == none) return true;
        holds = test(r.if_, v, nullptr);
    }
    if (stopped_) return refuse([&] { return std::string(stopped_); });
    const index next = holds ? r.then_ : r.else_;
    return next == none || check(next, v, seen);
}

}  // namespace keel::validation
