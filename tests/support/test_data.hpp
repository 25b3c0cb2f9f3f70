#pragma once

// Third-party test data that is not part of the repository: the official MCP schemas and examples ("schema"), the
// JSON-Schema-Test-Suite ("json-schema-test-suite") and signatures ("wycheproof"). `./dev data` downloads it.
//
// If KEEL_TEST_DATA is set, only the folder that it names is searched. Otherwise the data is in the folder `shared` beside the
// source tree, or in build/test-data. tests/drive/official_data.py does the same for Python.

#include <filesystem>
#include <optional>
#include <string>

namespace keel::test {

/// The folder of this kind of data; nothing if it is missing.
std::optional<std::filesystem::path> find_test_data(const std::string& name);

/// For tests of the data itself: true if it is missing. The current test is then reported as not run and must return at once.
bool test_data_missing(const std::string& name);

}  // namespace keel::test
