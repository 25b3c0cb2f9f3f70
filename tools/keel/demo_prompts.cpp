// Prompts: templates of messages with arguments.

#include "demo.hpp"
#include "demo_media.hpp"

#include <string>

namespace keel::demo {

enum class tone { plain, grand };
KEEL_DESCRIBE_ENUM(tone, plain, grand)

struct greet_args {
    std::string name;
    std::optional<std::string> language;
    std::optional<tone> how;
};
KEEL_DESCRIBE(greet_args, (name, "Whom to greet"), (language, "Language of the greeting"), how)

namespace {

/// Depends on an argument that is already chosen: for "Dupont" French comes first.
completion complete_language(context&, const completion_request& request) {
    std::vector<std::string> all = {"English", "French", "German", "Greek"};
    auto name = request.chosen.find("name");
    if (name != request.chosen.end() && name->second == "Dupont") all = {"French", "English", "German", "Greek"};
    completion found;
    for (std::string& each : all) {
        if (each.starts_with(request.value)) found.values.push_back(std::move(each));
    }
    return found;
}

std::string greet(greet_args in) {
    std::string wish = in.how == tone::grand ? "Write a grand greeting to " : "Greet ";
    return wish + in.name + (in.language ? " in " + *in.language : "") + ".";
}

prompt_result look_at_boat() {
    std::vector<prompt_message> messages;
    messages.emplace_back(content::image(boat_png, "image/png"));
    messages.emplace_back(
        content::embed(resource_contents::of_text("demo://boat/rules", "One sentence, no numbers", "text/plain")));
    messages.emplace_back(role::user, "What is this?");
    messages.emplace_back(role::assistant, "A boat, I think. Shall I look closer?");
    return prompt_result("A conversation about a picture", std::move(messages));
}

}  // namespace

void add_prompts(server& s) {
    prompt_options how;
    how.title = "Greeting";
    how.quick = true;
    how.complete["language"] = &complete_language;
    s.add_prompt("greet", "Asks for a greeting", &greet, std::move(how));
    s.add_prompt("boat", "Starts a conversation with a picture, a resource and both roles", &look_at_boat);
}

}  // namespace keel::demo
