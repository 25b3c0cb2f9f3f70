#include "json/container.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

namespace keel::inline KEEL_ABI::json {

error::~error() = default;  // see src/async/error.cpp

using detail::container;

namespace {

[[noreturn]] void wrong_kind(std::string_view expected, kind found) {
    std::string what = "expected ";
    what += expected;
    what += ", found ";
    what += name_of(found);
    throw error(what);
}

}  // namespace

std::string_view name_of(kind k) noexcept {
    switch (k) {
        case kind::null: return "null";
        case kind::boolean: return "boolean";
        case kind::integer:
        case kind::unsigned_integer: return "integer";
        case kind::real: return "number";
        case kind::string: return "string";
        case kind::array: return "array";
        case kind::object: return "object";
    }
    return "nothing";
}

namespace detail {

// Cells are moved bitwise: a value does not store its own address.
void container::grow(value& v, std::size_t cells) {
    container* larger = make(cells);
    if (container* old = v.container_) {
        std::memcpy(static_cast<void*>(larger->begin()), old->begin(), cells_of(v) * sizeof(value));
        ::operator delete(old);
    }
    v.container_ = larger;
}

void container::own(value& v) {
    if (!v.borrowed_) return;
    value copied(v);
    v = std::move(copied);
}

void container::make_room(value& v, kind wanted) {
    if (v.kind_ == kind::null) {
        v.kind_ = wanted;
        v.size_ = 0;
        v.container_ = nullptr;
    } else if (v.kind_ != wanted) {
        wrong_kind(name_of(wanted), v.kind_);
    }
    own(v);
    if (v.size_ == max_size) throw error("too many elements: an array or object has at most 4294967295");
    const std::size_t width = wanted == kind::object ? 2 : 1;
    const std::size_t used = v.size_ * width;
    if (!v.container_ || used == v.container_->cells) grow(v, std::max(used * 2, 4 * width));
}

value& container::push(value& array, value&& element) {
    make_room(array, kind::array);
    own(element);
    auto* cell = new (array.container_->begin() + array.size_) value(std::move(element));
    ++array.size_;
    return *cell;
}

value& container::push_member(value& object, std::string_view key, value&& content) {
    make_room(object, kind::object);
    value name(key);
    own(content);
    value* cell = object.container_->begin() + std::size_t{object.size_} * 2;
    auto* added = new (static_cast<void*>(cell)) member{std::move(name), std::move(content)};
    ++object.size_;
    return added->content;
}

bool container::erase(value& object, std::string_view key) noexcept {
    const auto all = object.members();
    const auto at = std::find_if(all.begin(), all.end(), [&](const member& m) { return m.key() == key; });
    if (at == all.end()) return false;
    // Correct for borrowed values too: only one value refers to a block in an arena, and its cells need no destruction.
    std::move(at + 1, all.end(), at);
    std::destroy_at(&all.back());
    --object.size_;
    return true;
}

}  // namespace detail

value::value(std::string_view text) : int_(0) { container::assign_text(*this, text); }

void value::copy_from(const value& other) {
    if (other.kind_ < kind::string) {
        kind_ = other.kind_;
        int_ = other.int_;
        return;
    }
    // Use a local value first: the destructor of *this does not run if the constructor throws.
    value result;
    container::copy(other, result);
    *this = std::move(result);
}

void value::release() noexcept { container::destroy(*this); }

value& value::operator=(const value& other) {
    value copied(other);
    return *this = std::move(copied);
}

value& value::operator=(value&& other) noexcept {
    // Use a third value: `other` may be a part of *this, which is about to be destroyed.
    value taken(std::move(other));
    std::swap(kind_, taken.kind_);
    std::swap(borrowed_, taken.borrowed_);
    std::swap(size_, taken.size_);
    std::swap(int_, taken.int_);
    return *this;
}

std::optional<std::uint64_t> value::if_uint() const noexcept {
    if (kind_ == kind::unsigned_integer) return uint_;
    if (kind_ == kind::integer && int_ >= 0) return static_cast<std::uint64_t>(int_);
    return std::nullopt;
}

std::optional<double> value::if_double() const noexcept {
    switch (kind_) {
        case kind::integer: return static_cast<double>(int_);
        case kind::unsigned_integer: return static_cast<double>(uint_);
        case kind::real: return real_;
        default: return std::nullopt;
    }
}

bool value::as_bool() const {
    if (kind_ != kind::boolean) wrong_kind("boolean", kind_);
    return bool_;
}

std::int64_t value::as_int() const {
    if (kind_ == kind::unsigned_integer) throw error("integer out of range");
    if (kind_ != kind::integer) wrong_kind("integer", kind_);
    return int_;
}

std::uint64_t value::as_uint() const {
    if (const auto n = if_uint()) return *n;
    if (kind_ == kind::integer) throw error("integer out of range");
    wrong_kind("integer", kind_);
}

double value::as_double() const {
    if (const auto d = if_double()) return *d;
    wrong_kind("number", kind_);
}

std::string_view value::as_string() const {
    if (kind_ != kind::string) wrong_kind("string", kind_);
    return {text_, size_};
}

std::span<const value> value::items() const noexcept {
    if (kind_ != kind::array || size_ == 0) return {};
    return {std::as_const(*container_).begin(), size_};
}

std::span<value> value::items() noexcept {
    if (kind_ != kind::array || size_ == 0) return {};
    return {container_->begin(), size_};
}

std::span<const member> value::members() const noexcept {
    if (kind_ != kind::object || size_ == 0) return {};
    return {reinterpret_cast<const member*>(container_->begin()), size_};
}

std::span<member> value::members() noexcept {
    if (kind_ != kind::object || size_ == 0) return {};
    return {reinterpret_cast<member*>(container_->begin()), size_};
}

const value* value::find(std::string_view key) const noexcept {
    if (kind_ != kind::object || size_ == 0) return nullptr;
    for (const member& m : members()) {
        if (m.key() == key) return &m.content;
    }
    return nullptr;
}

value* value::find(std::string_view key) noexcept { return const_cast<value*>(std::as_const(*this).find(key)); }

const value& value::operator[](std::string_view key) const& noexcept {
    static const value nothing;
    const value* found = find(key);
    return found ? *found : nothing;
}

value& value::slot(std::string_view key) {
    if (kind_ == kind::object) {
        container::own(*this);
        if (value* found = find(key)) return *found;
    }
    return append(key, {});
}

const value& value::at(std::size_t index) const {
    if (kind_ != kind::array) wrong_kind("array", kind_);
    if (index >= size_)
        throw error("index " + std::to_string(index) + " out of range: the array size is " + std::to_string(size_));
    return items()[index];
}

value& value::at(std::size_t index) { return const_cast<value&>(std::as_const(*this).at(index)); }

std::int64_t value::whole_number(std::int64_t least, std::int64_t most) const {
    const bool whole = kind_ == kind::real && std::trunc(real_) == real_ && real_ >= -0x1p63 && real_ < 0x1p63;
    const std::int64_t n = whole ? static_cast<std::int64_t>(real_) : as_int();
    if (n < least || n > most) throw error("integer out of range");
    return n;
}

std::uint64_t value::whole_number(std::uint64_t most) const {
    const bool whole = kind_ == kind::real && std::trunc(real_) == real_ && real_ >= 0 && real_ < 0x1p64;
    const std::uint64_t n = whole ? static_cast<std::uint64_t>(real_) : as_uint();
    if (n > most) throw error("integer out of range");
    return n;
}

value& value::set(std::string_view key, value v) {
    if (borrowed_ && kind_ == kind::object) container::own(*this);
    if (value* found = find(key)) {
        container::own(v);
        return *found = std::move(v);
    }
    return append(key, std::move(v));
}

value& value::append(std::string_view key, value v) { return container::push_member(*this, key, std::move(v)); }

bool value::erase(std::string_view key) noexcept { return container::erase(*this, key); }

value& value::push_back(value v) { return container::push(*this, std::move(v)); }

void value::reserve(std::size_t n) {
    if (kind_ == kind::null) return;
    if (kind_ < kind::array) wrong_kind("array or object", kind_);
    if (n > container::max_size) throw error("too many elements: an array or object has at most 4294967295");
    container::own(*this);
    const std::size_t cells = kind_ == kind::object ? n * 2 : n;
    if (cells > (container_ ? container_->cells : 0)) container::grow(*this, cells);
}

bool operator==(const value& a, const value& b) noexcept { return container::equal(a, b); }

namespace detail {

value array_of(value* parts, std::size_t count) {
    value made = array();
    made.reserve(count);
    for (std::size_t i = 0; i != count; ++i) made.push_back(std::move(parts[i]));
    return made;
}

value object_of(value* names_and_contents, std::size_t count) {
    value made = object();
    made.reserve(count / 2);
    for (std::size_t i = 0; i != count; i += 2) {
        made.set(names_and_contents[i].as_string(), std::move(names_and_contents[i + 1]));
    }
    return made;
}

}  // namespace detail

value array(std::initializer_list<value> items) {
    value result;
    result.kind_ = kind::array;
    result.container_ = nullptr;
    result.reserve(items.size());
    for (const value& item : items) result.push_back(item);
    return result;
}

value object(std::initializer_list<std::pair<std::string_view, value>> members) {
    value result;
    result.kind_ = kind::object;
    result.container_ = nullptr;
    result.reserve(members.size());
    for (const auto& [key, content] : members) result.set(key, content);
    return result;
}

}  // namespace keel::json
