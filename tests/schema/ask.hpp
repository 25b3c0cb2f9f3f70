#pragma once

#include <keel/schema.hpp>

#include <string>
#include <string_view>

/// The error for a value, as `path: text`, or "fits".
inline std::string ask(const keel::schema& s, std::string_view value, std::string_view prefix = {}) {
    keel::decode_error e;
    return s.check(keel::json::parse(value), e, prefix) ? "fits" : e.message();
}

inline std::string ask(std::string_view schema, std::string_view value, const keel::schema_options& options = {}) {
    return ask(keel::schema(keel::json::parse(schema), options), value);
}

/// The error of an invalid schema, or "good".
inline std::string refusal(std::string_view schema, const keel::schema_options& options = {}) {
    try {
        keel::schema{keel::json::parse(schema), options};
        return "good";
    } catch (const keel::schema_error& e) {
        return e.what();
    }
}
