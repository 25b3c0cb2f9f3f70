// Form elicitation: asks for each field, then shows the whole form for review before it is sent (ELI-06, ELI-18).

#include "printable.hpp"
#include "question_dialog.hpp"

#include <array>
#include <utility>
#include <vector>

namespace keel::command {

namespace {

constexpr std::array<asker::dialog::choice, 4> answers = {
    {{"yes", 'y'}, {"edit", 'e'}, {"decline", 'd'}, {"cancel", 'c'}}};

struct field_answer {
    std::optional<elicit_action> left;  // the user declined or cancelled
    std::optional<json::value> content;
};

std::string prompt_of(const form_field& f, std::size_t columns) {
    std::string text = wrapped(f.title() + ", " + f.hint() + (f.may_be_left_out() ? ", optional" : ""), 2, columns);
    for (std::size_t i = 0; i < f.choices().size(); ++i) {
        const form_field::choice& c = f.choices()[i];
        text += "\n    " + std::to_string(i + 1) + "  " + f.shown(c.content);
        if (!c.label.empty()) text += "  " + printable_line(c.label);
    }
    if (!f.choices().empty()) text += "\n   ";
    if (f.preset()) text += " [" + f.shown(*f.preset()) + "]";
    return text + ": ";
}

field_answer ask_field(asker::dialog& with, const form_field& f) {
    while (true) {
        typed t = with.ask(prompt_of(f, with.columns()));
        if (t.what != typed::kind::line) return {elicit_action::cancel, {}};
        if (t.line == ":c") return {elicit_action::cancel, {}};
        if (t.line == ":d") return {elicit_action::decline, {}};
        if (t.line == ":-" && f.may_be_left_out()) return {};
        if (t.line.empty()) {
            if (f.preset()) return {{}, f.preset()};
            if (f.may_be_left_out()) return {};
            with.line(f.what() == form_field::kind::text ? "    This field is required. (\"\" is the empty string.)"
                                                         : "    This field is required.");
            continue;
        }
        std::string problem;
        std::string_view text = t.line;
        if (text.starts_with("::")) text.remove_prefix(1);
        if (auto v = f.read(text, problem)) return {{}, std::move(v)};
        with.line("    " + problem);
    }
}

std::optional<elicit_action> fill_in(asker::dialog& with, std::vector<form_field>& fields, json::value& into) {
    into = json::object();
    for (form_field& f : fields) {
        field_answer a = ask_field(with, f);
        if (a.left) return a.left;
        f.set_preset(a.content);  // the default if the user edits the form again
        if (a.content) into.set(f.name(), std::move(*a.content));
    }
    return std::nullopt;
}

}  // namespace

form_answer asker::ask_form(const asked_by& who, const form_question& q) {
    dialog with(*this, who);
    if (with.over()) return elicit_action::cancel;
    std::vector<form_field> fields = fields_of(q.schema);
    with.line("\n" + with.bold(with.asker_name()) + " asks:");
    with.indented(printable_line(q.message));
    if (!fields.empty()) {
        with.indented("Enter takes the value in [brackets]. :- omits a field, :d declines, :c or Ctrl-D cancels.");
        with.line("");
    }
    while (true) {
        json::value values;
        if (auto left = fill_in(with, fields, values)) return *left;
        with.line("");
        for (const form_field& f : fields) {
            const json::value* v = values.find(f.name());
            with.line("  " + printable_line(f.name()) + ": " + (v ? f.shown(*v) : "(omitted)"));
        }
        auto letter = with.choose("Send this? [y]es, [e]dit, [d]ecline, [c]ancel: ", answers);
        if (!letter || *letter == 'c') return elicit_action::cancel;
        if (*letter == 'd') return elicit_action::decline;
        if (*letter == 'y') return form_answer(std::move(values));
    }
}

}  // namespace keel::command
