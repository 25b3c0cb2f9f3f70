#pragma once

// The arguments of a tool or a prompt as they stand on the command line: key=value, key:=JSON, or one JSON object.

#include <keel/json.hpp>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace keel::command {

/// What is left of the words after the name of the tool. Throws usage_error.
class given_arguments {
public:
    explicit given_arguments(std::span<const std::string> words);

    /// What a value means depends on the schema of the tool.
    bool needs_schema() const noexcept { return needs_schema_; }
    /// An object. Null for a schema that is not known: a value that is JSON is taken as JSON, any other as text.
    json::value with_schema(const json::value& input_schema) const;
    /// Of a prompt: texts.
    std::map<std::string, std::string> as_texts() const;

private:
    struct pair {
        std::string text;
        bool json = false;
    };
    json::value whole_;  // given as one object; null: as pairs
    std::map<std::string, pair> pairs_;
    std::vector<std::string> order_;
    bool needs_schema_ = false;
};

}  // namespace keel::command
