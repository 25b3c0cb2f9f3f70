#pragma once

// The official schemas and example messages (support/test_data.hpp says where they are).

#include <keel/json.hpp>
#include <keel/schema.hpp>

#include "support/test_data.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace official {

/// For keel::test::test_data_missing().
inline constexpr const char* data = "schema";

/// False if the test data is missing: messages are then not checked against the schemas.
inline bool available() {
    static const bool found = keel::test::find_test_data(data).has_value();
    return found;
}

/// Fails the test if the folder is missing.
inline std::filesystem::path schema_folder() {
    auto found = keel::test::find_test_data(data);
    if (!found) FAIL("the official schemas are missing: see ./dev data");
    return *found;
}

inline keel::json::value read_json(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    REQUIRE_MESSAGE(in.good(), "cannot open " << file.string());
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    return keel::json::parse(text);
}

inline const keel::json::value& schema_document(const std::string& revision) {
    static std::map<std::string, keel::json::value> known;
    auto found = known.find(revision);
    if (found == known.end()) {
        found = known.emplace(revision, read_json(schema_folder() / revision / "schema.json")).first;
    }
    return found->second;
}

/// "definitions" in the older schemas, "$defs" in the newer ones.
inline std::string definitions_key(const std::string& revision) {
    return schema_document(revision).contains("$defs") ? "$defs" : "definitions";
}

/// A compiled definition of a revision: "Tool", or a part of one: "CallToolRequest/properties/params".
inline const keel::schema& schema_for(const std::string& revision, const std::string& name) {
    static std::map<std::pair<std::string, std::string>, keel::schema> known;
    auto found = known.find({revision, name});
    if (found == known.end()) {
        const std::string key = definitions_key(revision);
        keel::json::value document = schema_document(revision);
        document.erase(
            "$schema");  // the older schemas name an older draft, but use only keywords that have not changed since
        document.set("$ref", "#/" + key + "/" + name);
        found = known.emplace(std::pair(revision, name), keel::schema(document)).first;
    }
    return found->second;
}

/// Returns "" if the value is valid, otherwise the error.
inline std::string complaint(const std::string& revision, const std::string& name, const keel::json::value& v) {
    keel::decode_error e;
    if (schema_for(revision, name).check(v, e)) return {};
    return revision + " " + name + ": " + e.message() + " in " + keel::json::to_string(v);
}

}  // namespace official
