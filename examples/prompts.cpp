// Prompts: message templates that a user selects and fills in.

#include <keel/main.hpp>

#include <string>

enum class depth { brief, thorough };
KEEL_DESCRIBE_ENUM(depth, brief, thorough)

struct review_args {
    std::string language;
    std::string code;
    std::optional<depth> how;
};
KEEL_DESCRIBE(review_args, (language, "Programming language"), (code, "Code to review"), how)

int main(int argc, char** argv) {
    keel::server server({.name = "reviewer", .version = "1.0.0"});

    keel::prompt_options options;
    options.title = "Code review";
    options.complete["language"] = [](keel::context&, const keel::completion_request& request) {
        keel::completion found;
        for (const char* each : {"C", "C++", "Python", "Rust"}) {
            if (std::string_view(each).starts_with(request.value)) found.values.push_back(each);
        }
        return found;
    };
    server.add_prompt(
        "review", "Asks for a code review",
        [](review_args in) {
            std::string wish = in.how == depth::thorough ? "Review every line of this " : "Look briefly at this ";
            return wish + in.language + " code:\n\n" + in.code;
        },
        options);

    server.add_prompt("interview", "Starts a conversation", [] {
        return std::vector<keel::prompt_message>{
            {keel::role::user, "Ask me about my project, one question at a time."},
            {keel::role::assistant, "What is it called?"},
        };
    });

    keel::prompt haiku;
    haiku.name = "haiku";
    haiku.description = "A haiku about anything";
    haiku.arguments = {{.name = "subject", .description = "Subject of the haiku", .required = true}};
    server.add_prompt(haiku, [](const keel::prompt_arguments& in) {
        keel::resource_contents rules = keel::resource_contents::of_text("haiku:rules", "5, 7 and 5 syllables");
        std::vector<keel::prompt_message> messages;
        messages.emplace_back(keel::content::embed(rules));
        messages.emplace_back("Write a haiku about " + in.at("subject") + ".");
        return keel::prompt_result("A haiku", messages);
    });
    return keel::main(server, argc, argv);
}
