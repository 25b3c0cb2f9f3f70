#pragma once

#include <keel/json.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace keel::inline KEEL_ABI::rpc {

/// The id of a JSON-RPC request, compared with its type: 1 is not "1". Absent means "no id"; 0 and "" are ids like any other.
class request_id {
public:
    request_id() = default;
    explicit request_id(std::int64_t n) : kind_(kind::integer), number_(n) {}
    explicit request_id(std::string_view s) : kind_(kind::string), text_(s) {}
    // Most ids are numbers: their text is not copied.
    request_id(const request_id& other) : kind_(other.kind_), number_(other.number_) {
        if (kind_ == kind::string) text_ = other.text_;
    }
    request_id(request_id&&) = default;
    request_id& operator=(const request_id& other) {
        if (kind_ == kind::string || other.kind_ == kind::string) text_ = other.text_;
        kind_ = other.kind_;
        number_ = other.number_;
        return *this;
    }
    request_id& operator=(request_id&&) = default;
    ~request_id() = default;

    /// Returns an absent id if the value is not a valid id: null, boolean, a fraction, a container, an integer beyond 64 bits.
    static request_id from(const json::value& v) {
        request_id id;
        id.assign(v);
        return id;
    }
    /// The same, in place. This id must be absent.
    void assign(const json::value& v) {
        if (auto n = v.if_int()) {
            kind_ = kind::integer;
            number_ = *n;
        } else if (auto u = v.if_uint()) {
            kind_ = kind::unsigned_integer;
            number_ = static_cast<std::int64_t>(*u);
        } else if (auto s = v.if_string()) {
            kind_ = kind::string;
            text_ = *s;
        }
    }

    bool present() const noexcept { return kind_ != kind::absent; }
    bool is_string() const noexcept { return kind_ == kind::string; }
    bool is_integer() const noexcept { return kind_ == kind::integer; }
    std::int64_t number() const noexcept { return number_; }
    const std::string& text() const noexcept { return text_; }

    json::value as_json() const {
        switch (kind_) {
            case kind::integer: return number_;
            case kind::unsigned_integer: return static_cast<std::uint64_t>(number_);
            case kind::string: return text_;
            case kind::absent: break;
        }
        return {};
    }
    /// Appends the id as JSON. An id that was received can always be written.
    void write(std::string& out) const;

    friend bool operator==(const request_id& a, const request_id& b) noexcept {
        return a.kind_ == b.kind_ && a.number_ == b.number_ && (a.kind_ != kind::string || a.text_ == b.text_);
    }

    std::size_t hash() const noexcept {
        return kind_ == kind::string ? std::hash<std::string>()(text_)
                                     : std::hash<std::int64_t>()(number_) ^ static_cast<std::size_t>(kind_);
    }

private:
    enum class kind : unsigned char { absent, integer, unsigned_integer, string };
    kind kind_ = kind::absent;
    std::int64_t number_ = 0;
    std::string text_;
};

struct request_id_hash {
    std::size_t operator()(const request_id& id) const noexcept { return id.hash(); }
};

}  // namespace keel::rpc
