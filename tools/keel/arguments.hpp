#pragma once

// The arguments of a tool or a prompt as given on the command line: key=value, key:=JSON, or one JSON object.

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
    /// For a prompt, whose arguments are strings.
    std::map<std::string, std::string> as_texts() const;

private:
    struct pair {
        std::string text;
        bool json = false;
    };
    json::value whole_;  // the one object that was given; null if the arguments are pairs
    std::map<std::string, pair> pairs_;
    std::vector<std::string> order_;
    bool needs_schema_ = false;
};

}  // namespace keel::command
