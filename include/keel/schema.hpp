#pragma once

// JSON Schema 2020-12, 2019-09 and draft-07. Compiles a schema once, then validates on any thread. See docs/json-schema.md.

#include <keel/decode_error.hpp>
#include <keel/json.hpp>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

namespace validation {
struct program;  // src/schema/program.hpp
}

/// An invalid schema. where() is a JSON pointer into the schema, preceded by the URI of the document if the error is in one of
/// schema_options::documents: `https://example.com/a.json#/properties/b`.
class KEEL_API schema_error : public std::runtime_error {
public:
    schema_error(std::string where, const std::string& why);
    ~schema_error() override;
    const std::string& where() const noexcept { return *where_; }

private:
    std::shared_ptr<const std::string> where_;  // shared, so that copying the exception cannot throw
};

struct KEEL_API schema_options {
    bool check_formats = false;  // whether "format" is validated; otherwise it is an annotation
    /// Documents that `$ref` may refer to, by absolute URI without fragment. Nothing is ever downloaded.
    std::vector<std::pair<std::string, json::value>> documents = {};
    std::size_t max_depth = 128;          // nesting of schemas, in the document and during validation
    std::size_t max_subschemas = 10'000;  // in all documents that are used
    std::size_t max_work = 1'000'000;     // steps of one validation; a value that needs more is invalid
};

/// A compiled schema. Copies are cheap and share it. Thread-safe. It does not refer to the document it was compiled from.
class KEEL_API schema {
public:
    schema() noexcept = default;  // accepts everything
    /// `$schema` in the document selects the dialect (default: 2020-12). Throws schema_error if the document is an invalid schema,
    /// uses an unsupported dialect, has an unresolved reference, or is too large.
    explicit schema(const json::value& document, const schema_options& = {});

    /// True if the value is valid.
    bool accepts(const json::value& v) const;
    /// Same. If it returns false, `error` contains the path in the value, starting with `prefix`, and the cause:
    /// `arguments.items[2].name` and `expected string, found integer`.
    bool check(const json::value& v, decode_error& error, std::string_view prefix = {}) const;

    /// All errors of an invalid value, at most 20, each with its path; empty if the value is valid. Alternatives (anyOf, oneOf, …)
    /// give one error.
    std::vector<decode_error> all_errors(const json::value& v, std::string_view prefix = {}) const;

    /// True if default-constructed.
    bool empty() const noexcept { return program_ == nullptr; }
    explicit operator bool() const noexcept { return !empty(); }

private:
    std::shared_ptr<const validation::program> program_;
};

}  // namespace keel
