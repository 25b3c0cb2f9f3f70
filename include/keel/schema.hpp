#pragma once

// JSON Schema 2020-12: a schema is made ready once and then checks values, from any thread. See docs/json-schema.md.

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

/// What is wrong with a schema: where (a JSON pointer into it) and why. In one of the documents handed in, the pointer
/// follows the document's URI: `https://example.com/a.json#/properties/b`.
class KEEL_API schema_error : public std::runtime_error {
public:
    schema_error(std::string where, const std::string& why);
    ~schema_error() override;
    const std::string& where() const noexcept { return *where_; }

private:
    std::shared_ptr<const std::string> where_;  // shared, so that copying the exception cannot throw
};

struct KEEL_API schema_options {
    bool check_formats = false;  // "format" is an annotation unless asked for
    /// Documents that `$ref` may reach, by absolute URI (without fragment). Nothing is ever fetched.
    std::vector<std::pair<std::string, json::value>> documents = {};
    std::size_t max_depth = 128;          // of schemas in the document, and of schemas within schemas while checking
    std::size_t max_subschemas = 10'000;  // in all documents that are used
    std::size_t max_work = 1'000'000;     // steps of one validation; beyond that the value is refused
};

/// A schema made ready once, used from any thread. Copying shares. Keeps nothing of the document it was made from.
class KEEL_API schema {
public:
    schema() noexcept = default;  // accepts everything
    /// Throws schema_error when the document is no valid schema of a dialect that is known, refers to something that is
    /// not there, or is too large.
    explicit schema(const json::value& document, const schema_options& = {});

    bool accepts(const json::value& v) const;
    /// On false `error` says where in the value and why: `arguments.items[2].name` and `expected string, found integer`
    /// if the prefix was `arguments`.
    bool check(const json::value& v, decode_error& error, std::string_view prefix = {}) const;

    /// True when it was not made from a document.
    bool empty() const noexcept { return program_ == nullptr; }
    explicit operator bool() const noexcept { return !empty(); }

private:
    std::shared_ptr<const validation::program> program_;
};

}  // namespace keel
