#pragma once

// One field of an elicitation form: its schema, its default, and how typed text is converted.

#include <keel/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::command {

class form_field {
public:
    enum class kind : unsigned char { text, number, yes_no, one_of, some_of, other };
    struct choice {
        json::value content;
        std::string label;  // empty: the value itself is shown
    };

    form_field(std::string_view name, const json::value& schema, bool required);

    const std::string& name() const noexcept { return name_; }
    kind what() const noexcept { return kind_; }
    bool required() const noexcept { return required_; }
    /// False for a field with a default: it is always sent.
    bool may_be_left_out() const noexcept { return !required_ && !has_default_; }
    const std::vector<choice>& choices() const noexcept { return choices_; }
    /// The default, used if the user types nothing.
    const std::optional<json::value>& preset() const noexcept { return preset_; }
    void set_preset(std::optional<json::value> v) { preset_ = std::move(v); }

    // Printable text for the terminal.
    std::string title() const;
    std::string hint() const;  // "a number from 1 to 30"
    std::string shown(const json::value& v) const;

    /// Converts typed text. Returns nothing if it is invalid, with the reason in `problem`. The caller handles empty
    /// input.
    std::optional<json::value> read(std::string_view text, std::string& problem) const;

private:
    std::optional<json::value> interpret(std::string_view text, std::string& problem) const;
    std::optional<json::value> choose(std::string_view text, std::string& problem) const;
    std::optional<json::value> choose_some(std::string_view text, std::string& problem) const;
    void read_choices(const json::value& from);
    bool fits(const json::value& v, std::string& problem) const;

    std::string name_;
    json::value schema_;
    bool required_;
    bool has_default_ = false;
    kind kind_ = kind::other;
    std::vector<choice> choices_;
    std::optional<json::value> preset_;
};

/// The fields of a form, in schema order.
std::vector<form_field> fields_of(const json::value& schema);

}  // namespace keel::command
