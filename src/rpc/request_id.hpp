#pragma once

#include <keel/json.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace keel::rpc {

/// The id of a JSON-RPC request, compared with its type: 1 is not "1". Absent means "no id"; 0 and "" are ids like any other.
class request_id {
public:
    request_id() = default;
    explicit request_id(std::int64_t n) : kind_(kind::integer), number_(n) {}
    explicit request_id(std::string_view s) : kind_(kind::string), text_(s) {}

    /// An absent id when the value cannot be one: null, boolean, a fraction, a container, an integer beyond 64 bits.
    static request_id from(const json::value& v) {
        request_id id;
        if (auto n = v.if_int()) {
            id.kind_ = kind::integer;
            id.number_ = *n;
        } else if (auto u = v.if_uint()) {
            id.kind_ = kind::unsigned_integer;
            id.number_ = static_cast<std::int64_t>(*u);
        } else if (auto s = v.if_string()) {
            id.kind_ = kind::string;
            id.text_ = *s;
        }
        return id;
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
    /// Appends the id as JSON. An id that came in can always be written.
    void write(std::string& out) const;

    friend bool operator==(const request_id&, const request_id&) = default;

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
