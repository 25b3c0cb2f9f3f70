#pragma once

// The arguments of a tool or a prompt as given on the command line: key=value, key:=JSON, or one JSON object. A repeated key makes a
// list.

#include <keel/json.hpp>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace keel::command {

/// Parses the words that follow the name of the tool or prompt. Throws usage_error.
class given_arguments {
public:
    explicit given_arguments(std::span<const std::string> words);

    /// True if the meaning of a value depends on the tool's schema.
    bool needs_schema() const noexcept { return needs_schema_; }
    /// Returns an object. If the schema is unknown (null), a value that parses as JSON is sent as JSON, any other as a
    /// string.
    json::value with_schema(const json::value& input_schema) const;
    bool empty() const noexcept { return whole_.empty() && order_.empty(); }
    /// For a prompt, whose arguments are strings.
    std::map<std::string, std::string> as_texts() const;

private:
    struct pair {
        std::string text;
        bool json = false;
    };
    json::value value_of(const std::string& key, const std::vector<pair>& given, const json::value& schema,
                         const json::value& root) const;
    json::value whole_;  // the one object that was given; null if the arguments are pairs
    json::value list_of(const std::string& key, const std::vector<pair>& given, const json::value& items,
                        const json::value& root) const;

    std::map<std::string, std::vector<pair>> pairs_;
    std::vector<std::string> order_;
    bool needs_schema_ = false;
};

}  // namespace keel::command
