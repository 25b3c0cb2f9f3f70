#include <keel/schema.hpp>

#include "schema/compiler.hpp"
#include "schema/runner.hpp"

namespace keel::inline KEEL_ABI {

schema_error::schema_error(std::string where, const std::string& why)
    : std::runtime_error(where.empty() ? why : where + ": " + why),
      where_(std::make_shared<const std::string>(std::move(where))) {}
schema_error::~schema_error() = default;  // see src/async/error.cpp

schema::schema(const json::value& document, const schema_options& options)
    : program_(validation::compile(document, options)) {}

bool schema::accepts(const json::value& v) const { return !program_ || validation::runner(*program_).accepts(v); }

bool schema::check(const json::value& v, decode_error& error, std::string_view prefix) const {
    if (!program_) return true;
    validation::runner first(*program_);
    if (first.accepts(v)) return true;
    // The second run computes the message. It costs more than the first, so it may reach a limit that the first did
    // not.
    decode_error found;
    validation::runner second(*program_, &found);
    second.accepts(v);
    if (second.stopped() && !first.stopped()) found = {{}, "does not match the schema"};
    error = std::move(found);
    if (!prefix.empty()) error.path.insert(0, prefix);
    else if (error.path.starts_with('.')) error.path.erase(0, 1);
    return false;
}

std::vector<decode_error> schema::all_errors(const json::value& v, std::string_view prefix) const {
    std::vector<decode_error> all;
    decode_error first;
    if (check(v, first, prefix)) return all;
    decode_error last;
    validation::runner collecting(*program_, &last, &all);
    collecting.accepts(v);
    if (!last.text.empty()) all.push_back(std::move(last));
    if (collecting.stopped()) return {std::move(first)};
    for (decode_error& e : all) {
        if (!prefix.empty()) e.path.insert(0, prefix);
        else if (e.path.starts_with('.')) e.path.erase(0, 1);
    }
    return all;
}

}  // namespace keel
