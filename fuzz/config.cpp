#include "config/entry.hpp"
#include "config/env_file.hpp"
#include "config/jsonc.hpp"

#include <keel/config.hpp>
#include <keel/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// A configuration file: comments, entries and variables. Removing comments keeps the size and all line breaks, and is idempotent.

namespace {

using namespace keel;

void require(bool holds) {
    if (!holds) std::abort();
}

void check_entry(const json::value& entry) {
    configured_server shown = config::describe_entry(entry);
    config::variables with;
    with.workspace = "/w";
    with.environment = [](const std::string& name) {
        return name.size() % 2 == 0 ? std::optional<std::string>(name) : std::nullopt;
    };
    try {
        config::resolve_entry(entry, with, "/w");
        require(shown.type != configured_server::kind::invalid);
    } catch (const config_error& e) {
        require(e.what()[0] != 0);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    // Entries may name files (envFile, ${file:PATH}): do not read files of this machine.
    if (text.find("envFile") != std::string_view::npos || text.find("file:") != std::string_view::npos ||
        text.find('\\') != std::string_view::npos)
        return 0;
    std::string plain = config::without_comments(text);
    require(plain.size() == text.size());
    for (std::size_t i = 0; i < size; ++i) require((text[i] == '\n') == (plain[i] == '\n'));
    json::document document;
    if (document.read(text)) {
        require(plain == text);  // valid JSON has nothing to remove
    }
    try {
        json::value root = parse_jsonc(text, "file");
        check_entry(root);
        for (const json::member& each : root["mcpServers"].members()) check_entry(each.content);
    } catch (const config_error&) {
    }
    try {
        config::read_env_file(text);
    } catch (const config_error&) {
    }
    return 0;
}
