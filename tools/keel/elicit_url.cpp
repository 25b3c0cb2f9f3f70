// URL elicitation: shows the whole URL and opens it in the user's browser only after consent (ELI-06 to ELI-08,
// ELI-19).

#include "browser.hpp"
#include "printable.hpp"
#include "question_dialog.hpp"
#include "web_address.hpp"

#include <array>
#include <string>

namespace keel::command {

namespace {

constexpr std::array<asker::dialog::choice, 6> answers = {
    {{"open", 'o'}, {"yes", 'o'}, {"myself", 'm'}, {"decline", 'd'}, {"no", 'd'}, {"cancel", 'c'}}};

}  // namespace

elicit_action asker::ask_url(const asked_by& who, const url_question& q) {
    dialog with(*this, who);
    if (with.over()) return elicit_action::cancel;
    web_address a = read_web_address(q.url);
    with.line("\n" + with.bold(with.asker_name()) + " asks you to open a web page:");
    with.indented(printable_line(q.message));
    with.line("  " + printable_line(a.before) + with.bold(printable_line(a.host)) + printable_line(a.after));
    if (!a.problem.empty()) {
        with.indented("Declined: " + a.problem + ".");
        return elicit_action::decline;
    }
    with.line("  Host: " + with.bold(printable_line(a.host)));
    for (const std::string& each : a.warnings) with.indented("Warning: " + each);
    with.forget_typed();
    while (true) {
        auto letter =
            with.choose("Open it? [o]pen in the browser, [m]yself (I open it), [d]ecline, [c]ancel: ", answers);
        if (!letter || *letter == 'c') return elicit_action::cancel;
        if (*letter == 'd') return elicit_action::decline;
        if (*letter == 'm') return elicit_action::accept;
        std::string problem = open_in_browser(q.url);
        if (problem.empty()) return elicit_action::accept;
        with.indented("The browser did not start: " + printable_line(problem) + ". You can open the URL yourself.");
    }
}

}  // namespace keel::command
