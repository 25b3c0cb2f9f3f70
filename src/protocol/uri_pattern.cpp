#include "protocol/uri_pattern.hpp"

#include "protocol/uri.hpp"

#include <keel/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace keel::inline KEEL_ABI::protocol {

namespace {

constexpr std::array<template_operator, 8> operators = {{
    {0, 0, ',', false, false, false},
    {'+', 0, ',', false, false, true},
    {'#', '#', ',', false, false, true},
    {'.', '.', '.', false, false, false},
    {'/', '/', '/', false, false, false},
    {';', ';', ';', true, false, false},
    {'?', '?', '&', true, true, false},
    {'&', '&', '&', true, true, false},
}};

constexpr std::size_t max_places = std::size_t{1} << 27;  // instructions times characters: 16 MB of bits
constexpr std::size_t max_steps = std::size_t{1} << 20;
constexpr std::size_t max_steps_if_repeated = std::size_t{1} << 18;

/// Makes hexadecimal digits of escapes upper case (RFC 3986, 6.2.2.1). False if an escape is incomplete.
bool normalise_escapes(std::string& text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') continue;
        if (escaped_byte(text, i) < 0) return false;
        for (std::size_t digit : {i + 1, i + 2}) {
            if (text[digit] >= 'a') text[digit] = static_cast<char>(text[digit] - 'a' + 'A');
        }
        i += 2;
    }
    return true;
}

/// The character that starts at a byte of a URI.
struct character {
    std::uint8_t length = 0;  // 0: not a character that a value may contain
    bool reserved = false;
    std::uint16_t number = 0;  // of characters before this one
};

/// A character is one byte, or the escapes of one complete UTF-8 character.
std::vector<character> characters_of(std::string_view uri) {
    std::vector<character> all(uri.size() + 1);
    std::uint16_t number = 0;
    for (std::size_t i = 0; i < uri.size();) {
        character& here = all[i];
        std::size_t length = 1;
        if (uri[i] == '%') {
            std::string bytes;
            const int lead = escaped_byte(uri, i);
            const std::size_t count = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
            for (std::size_t n = 0; n < count; ++n) {
                if (const int byte = escaped_byte(uri, i + n * 3); byte > 0) bytes += static_cast<char>(byte);
            }
            const bool whole = bytes.size() == count && json::is_utf8(bytes);
            length = whole ? count * 3 : 3;
            here.length = whole ? static_cast<std::uint8_t>(length) : std::uint8_t{0};
        } else if (is_unreserved(uri[i])) {
            here.length = 1;
        } else if (is_reserved(uri[i])) {
            here.length = 1;
            here.reserved = true;
        }
        here.number = number++;
        i += length;
    }
    all.back().number = number;
    return all;
}

}  // namespace

const template_operator* find_template_operator(char sign) noexcept {
    const auto found = std::ranges::find(operators, sign, &template_operator::sign);
    return found == operators.end() ? nullptr : &*found;
}

std::string_view first_characters(std::string_view text, std::size_t count) noexcept {
    std::size_t end = 0;
    while (end < text.size() && count != 0) {
        ++end;
        while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
        --count;
    }
    return text.substr(0, end);
}

// Compilation.

uri_pattern::uri_pattern(const std::vector<std::string>& names, const std::vector<template_part>& parts)
    : captures_of_(names.size()) {
    for (const template_part& p : parts) {
        if (p.variables.empty()) {
            emit_text(p.literal);
            continue;
        }
        std::vector<std::uint32_t> captures;
        for (const template_variable& v : p.variables) {
            captures.push_back(static_cast<std::uint32_t>(captures_.size()));
            captures_of_[v.index].push_back(captures.back());
            repeats_ |= captures_of_[v.index].size() > 1;
            captures_.push_back({v, p.op, names[v.index]});
        }
        if (p.op->named) {
            emit_named(captures);
        } else {
            emit_unnamed(captures);
        }
    }
    emit(step::accepted);
}

std::uint32_t uri_pattern::emit(step what, std::uint32_t target) {
    program_.push_back({.what = what, .reserved_too = false, .target = target, .count = 0});
    return static_cast<std::uint32_t>(program_.size() - 1);
}

void uri_pattern::land(std::uint32_t from) { program_[from].target = static_cast<std::uint32_t>(program_.size()); }

void uri_pattern::emit_text(std::string text) {
    normalise_escapes(text);
    emit(step::text, static_cast<std::uint32_t>(texts_.size()));
    texts_.push_back(std::move(text));
}

void uri_pattern::emit_units(const template_operator& op, bool at_least_one) {
    if (at_least_one) program_[emit(step::unit)].reserved_too = op.allows_reserved;
    program_[emit(step::units)].reserved_too = op.allows_reserved;
}

/// A value without a name: one item, or the items of an exploded variable.
void uri_pattern::emit_value(std::uint32_t index, bool at_least_one) {
    const capture& c = captures_[index];
    emit(step::begin, index);
    if (c.variable.prefix != 0) {
        if (at_least_one) program_[emit(step::unit)].reserved_too = c.op->allows_reserved;
        instruction& counted = program_[emit(step::counted, index)];
        counted.reserved_too = c.op->allows_reserved;
        counted.count = static_cast<std::uint32_t>(c.variable.prefix);
    } else {
        emit_units(*c.op, at_least_one);
    }
    if (c.variable.explode) {
        // Prefer no further item: the rest of the template may need it.
        const std::uint32_t again = emit(step::either);
        const std::uint32_t leave = emit(step::jump);
        land(again);
        emit_text(std::string(1, c.op->separator));
        emit_units(*c.op, false);
        emit(step::jump, again);
        land(leave);
    }
    emit(step::end, index);
}

void uri_pattern::emit_unnamed(const std::vector<std::uint32_t>& captures) {
    const template_operator& op = *captures_[captures.front()].op;
    std::vector<std::uint32_t> leave;
    for (const std::uint32_t c : captures) {
        const bool first = c == captures.front();
        const char sign = first ? op.first : op.separator;
        if (sign != 0) {
            leave.push_back(emit(step::either));
            emit_text(std::string(1, sign));
        }
        emit_value(c, sign == 0);
    }
    for (const std::uint32_t l : leave) land(l);
}

/// `first (name value) *(separator (name value))`, or nothing; each name at most once, in any order.
void uri_pattern::emit_named(const std::vector<std::uint32_t>& captures) {
    const template_operator& op = *captures_[captures.front()].op;
    const std::uint32_t absent = emit(step::either);
    emit_text(std::string(1, op.first));
    const auto pick = static_cast<std::uint32_t>(program_.size());
    std::vector<std::uint32_t> done;
    for (const std::uint32_t c : captures) {
        const bool last = c == captures.back();
        const std::uint32_t other = last ? 0 : emit(step::either);
        emit(step::unused, c);
        emit_named_value(c);
        if (last) break;
        done.push_back(emit(step::jump));
        land(other);
    }
    for (const std::uint32_t d : done) land(d);
    const std::uint32_t leave = emit(step::either);
    emit_text(std::string(1, op.separator));
    emit(step::jump, pick);
    land(absent);
    land(leave);
}

void uri_pattern::emit_named_value(std::uint32_t index) {
    const capture& c = captures_[index];
    if (c.variable.explode) {
        // The capture includes the names; text_of removes them.
        emit(step::begin, index);
        const auto item = static_cast<std::uint32_t>(program_.size());
        emit_text(c.op->equals_if_empty ? c.name + "=" : c.name);
        std::uint32_t empty = 0;
        if (!c.op->equals_if_empty) {
            empty = emit(step::either);
            emit_text("=");
        }
        emit_units(*c.op, !c.op->equals_if_empty);
        if (!c.op->equals_if_empty) land(empty);
        const std::uint32_t leave = emit(step::either);
        emit_text(std::string(1, c.op->separator));
        emit(step::jump, item);
        land(leave);
        emit(step::end, index);
    } else if (c.op->equals_if_empty) {
        emit_text(c.name + "=");
        emit_value(index, false);
    } else {
        emit_text(c.name);
        const std::uint32_t empty = emit(step::either);
        emit_text("=");
        emit_value(index, true);
        const std::uint32_t done = emit(step::jump);
        land(empty);
        emit(step::begin, index);
        emit(step::end, index);
        land(done);
    }
}

// Matching.

class uri_pattern::search {
public:
    search(const uri_pattern& pattern, std::string_view uri)
        : pattern_(pattern), uri_(uri), characters_(characters_of(uri)), bounds_(pattern.captures_.size()) {
        // If a variable appears twice, the result at a position depends on earlier captures, so positions must be tried
        // again. Only the number of steps is limited then.
        if (!pattern.repeats_) tried_.resize(pattern.program_.size() * (uri.size() + 1));
    }

    std::optional<std::vector<std::optional<std::string>>> run() {
        jobs_.push_back({});
        std::size_t left = pattern_.repeats_ ? max_steps_if_repeated : max_steps;
        while (!jobs_.empty()) {
            const job next = jobs_.back();
            jobs_.pop_back();
            if (next.restores) {
                bounds_[next.at] = next.before;
                continue;
            }
            at_ = next.at;
            position_ = next.position;
            while (advance()) {
                if (--left == 0) return std::nullopt;
            }
            if (accepted_) {
                if (auto values = collect()) return values;
                accepted_ = false;
            }
            if (--left == 0) return std::nullopt;
        }
        return std::nullopt;
    }

private:
    static constexpr std::uint32_t unset = UINT32_MAX;

    struct range {
        std::uint32_t begin = unset;
        std::uint32_t end = unset;
    };
    struct job {
        std::uint32_t at = 0;  // an instruction, or the capture whose former bounds are restored
        std::uint32_t position = 0;
        range before;
        bool restores = false;
    };

    void later(std::uint32_t at, std::size_t position) {
        jobs_.push_back({at, static_cast<std::uint32_t>(position), {}, false});
    }

    /// The length of the character here, or 0 if the instruction does not accept it.
    std::size_t taken(const instruction& i) const {
        const character& c = characters_[position_];
        return c.reserved && !i.reserved_too ? 0 : c.length;
    }

    bool first_time() {
        if (pattern_.repeats_) return true;
        const std::size_t place = at_ * (uri_.size() + 1) + position_;
        if (tried_[place]) return false;
        tried_[place] = true;
        return true;
    }

    /// Executes one instruction. Returns false if this alternative has failed.
    bool advance() {
        const instruction& i = pattern_.program_[at_];
        switch (i.what) {
            case step::text: {
                const std::string& text = pattern_.texts_[i.target];
                if (!first_time() || uri_.compare(position_, text.size(), text) != 0) return false;
                position_ += text.size();
                break;
            }
            case step::unit: {
                const std::size_t length = taken(i);
                if (length == 0 || !first_time()) return false;
                position_ += length;
                break;
            }
            case step::units:
                if (!first_time()) return false;
                if (const std::size_t length = taken(i)) later(at_, position_ + length);
                break;
            case step::counted: {
                // Depends on where the capture began, so it is tried each time it is reached: at most `count` times for
                // each beginning.
                const unsigned number = characters_[position_].number;
                const std::size_t length = taken(i);
                if (length != 0 && number - characters_[bounds_[i.target].begin].number < i.count) {
                    later(at_ + 1, position_);
                    position_ += length;
                    return true;
                }
                break;
            }
            case step::either: later(i.target, position_); break;
            case step::jump: at_ = i.target; return true;
            case step::begin:
            case step::end: {
                range& bounds = bounds_[i.target];
                jobs_.push_back({i.target, 0, bounds, true});
                (i.what == step::begin ? bounds.begin : bounds.end) = static_cast<std::uint32_t>(position_);
                break;
            }
            case step::unused:
                if (bounds_[i.target].end != unset) return false;
                break;
            case step::accepted: accepted_ = position_ == uri_.size(); return false;
        }
        ++at_;
        return true;
    }

    /// The values, or nothing if a variable that appears twice has two different values.
    std::optional<std::vector<std::optional<std::string>>> collect() const {
        std::vector<std::optional<std::string>> values(pattern_.captures_of_.size());
        for (std::size_t v = 0; v < values.size(); ++v) {
            const auto& places = pattern_.captures_of_[v];
            const auto absent = [&](std::uint32_t c) { return bounds_[c].end == unset; };
            if (std::ranges::all_of(places, absent)) continue;
            if (std::ranges::any_of(places, absent)) return std::nullopt;

            // Use the occurrence with the longest prefix; all others must agree with it.
            const auto shown = [&](std::uint32_t c) {
                const std::size_t prefix = pattern_.captures_[c].variable.prefix;
                return prefix == 0 ? SIZE_MAX : prefix;
            };
            std::string whole = text_of(*std::ranges::max_element(places, {}, shown));
            for (const std::uint32_t c : places) {
                if (places.size() > 1 && text_of(c) != first_characters(whole, shown(c))) return std::nullopt;
            }
            values[v] = std::move(whole);
        }
        return values;
    }

    std::string text_of(std::uint32_t index) const {
        const capture& c = pattern_.captures_[index];
        std::string_view raw = uri_.substr(bounds_[index].begin, bounds_[index].end - bounds_[index].begin);
        // The separators of unnamed items also join them.
        if (!c.variable.explode || !c.op->named) return percent_decode(raw);
        std::string joined;
        for (bool first = true;; first = false) {
            const std::size_t end = raw.find(c.op->separator);
            std::string_view item = raw.substr(0, end);
            item.remove_prefix(c.name.size());
            if (item.starts_with('=')) item.remove_prefix(1);
            if (!first) joined += ',';
            joined += percent_decode(item);
            if (end == std::string_view::npos) return joined;
            raw.remove_prefix(end + 1);
        }
    }

    const uri_pattern& pattern_;
    std::string_view uri_;
    std::vector<character> characters_;
    std::vector<range> bounds_;  // by capture
    std::vector<bool> tried_;    // by instruction and position
    std::vector<job> jobs_;      // a stack
    std::uint32_t at_ = 0;
    std::size_t position_ = 0;
    bool accepted_ = false;
};

std::optional<std::vector<std::optional<std::string>>> uri_pattern::match(std::string_view uri) const {
    if (uri.size() > max_uri_size || program_.size() > max_places / (uri.size() + 1)) return std::nullopt;
    std::string normal(uri);
    if (!normalise_escapes(normal)) return std::nullopt;
    return search(*this, normal).run();
}

}  // namespace keel::protocol
