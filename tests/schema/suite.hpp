#pragma once

// The files of the official JSON-Schema-Test-Suite.

#include <keel/schema.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace suite {

/// For keel::test::test_data_missing().
inline constexpr const char* data = "json-schema-test-suite";

/// The folder of the suite. Throws std::runtime_error if it is missing.
std::filesystem::path folder();

keel::json::value read(const std::filesystem::path& file);

/// The JSON files of a folder, by name.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder);

/// The documents that the suite expects at http://localhost:1234/.
std::vector<std::pair<std::string, keel::json::value>> remotes();

struct score {
    std::size_t passed = 0;
    std::size_t all = 0;
    std::vector<std::string> failed;  // "file: group: test"
};
/// Runs the tests of a file. Schemas without "$schema" get this one, if it is not empty: the files of older drafts do not name it.
void run(const std::filesystem::path& file, const keel::schema_options& options, score& into,
         const std::string& dialect = {});

}  // namespace suite
