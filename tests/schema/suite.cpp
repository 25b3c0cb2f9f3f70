#include "suite.hpp"

#include "support/test_data.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace suite {

namespace fs = std::filesystem;
using namespace keel;

fs::path folder() {
    auto found = test::find_test_data(data);
    if (!found) throw std::runtime_error("the JSON-Schema-Test-Suite is missing: see ./dev data");
    return *found;
}

json::value read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + file.string());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    return json::parse(text);
}

std::vector<fs::path> files_in(const fs::path& folder) {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".json") out.push_back(entry.path());
    }
    std::ranges::sort(out);
    return out;
}

std::vector<std::pair<std::string, json::value>> remotes() {
    std::vector<std::pair<std::string, json::value>> out;
    const fs::path root = folder() / "remotes";
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
        if (entry.path().extension() != ".json") continue;
        out.emplace_back("http://localhost:1234/" + fs::relative(entry.path(), root).generic_string(),
                         read(entry.path()));
    }
    return out;
}

void run(const fs::path& file, const schema_options& options, score& into, const std::string& dialect) {
    const json::value groups = read(file);
    for (const json::value& group : groups.items()) {
        const std::string name = file.stem().string() + ": " + std::string(group["description"].as_string());
        schema ready;
        std::string refused;
        json::value document = group["schema"];
        if (!dialect.empty() && document.is_object() && !document.contains("$schema")) document.set("$schema", dialect);
        try {
            ready = schema(document, options);
        } catch (const schema_error& e) {
            refused = e.what();
        }
        for (const json::value& test : group["tests"].items()) {
            ++into.all;
            decode_error error;
            const bool expected = test["valid"].as_bool();
            const bool fits = refused.empty() && ready.accepts(test["data"]);
            // Both ways to validate agree, and every error has a text.
            const bool same =
                !refused.empty() || (ready.check(test["data"], error) == fits && fits == error.text.empty());
            if (refused.empty() && same && fits == expected) {
                ++into.passed;
                continue;
            }
            std::string line = name + ": " + std::string(test["description"].as_string());
            line += " " + json::to_string(test["data"]).substr(0, 100);
            if (!refused.empty()) line += " (schema refused: " + refused + ")";
            else if (!same) line += " (the explanation disagrees)";
            into.failed.push_back(std::move(line));
        }
    }
}

}  // namespace suite
