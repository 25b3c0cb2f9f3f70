#include "support/test_data.hpp"

#include "support/proof.hpp"

#include <cstdlib>
#include <iostream>
#include <vector>

namespace keel::test {

namespace fs = std::filesystem;

std::optional<fs::path> find_test_data(const std::string& name) {
    const fs::path source = fs::path(__FILE__).parent_path() / "../..";
    std::vector<fs::path> places = {source / "../shared", source / "build/test-data"};
    if (const char* given = std::getenv("KEEL_TEST_DATA"); given != nullptr && *given != '\0') places = {given};
    for (const fs::path& place : places) {
        fs::path folder = (place / name).lexically_normal();
        if (fs::is_directory(folder)) return folder;
    }
    return std::nullopt;
}

bool test_data_missing(const std::string& name) {
    if (find_test_data(name)) return false;
    std::cout << "not run: official test data missing, see ./dev data\n";
    not_run();
    return true;
}

}  // namespace keel::test
