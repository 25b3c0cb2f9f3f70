// Prompts.

#include "fixtures.hpp"

#include <string>
#include <vector>

namespace keel::conformance {

struct two_arguments {
    std::string arg1;
    std::string arg2;
};
KEEL_DESCRIBE(two_arguments, (arg1, "First test argument"), (arg2, "Second test argument"))

struct resource_argument {
    std::string resource_uri;
};
KEEL_DESCRIBE(resource_argument, (resource_uri, "URI of the resource to embed", keel::wire("resourceUri")))

namespace {

completion complete_first(context&, const completion_request& request) {
    completion found;
    for (const char* known : {"test", "testing", "tested", "value"}) {
        if (std::string_view(known).starts_with(request.value)) found.values.emplace_back(known);
    }
    return found;
}

std::string with_arguments(two_arguments in) {
    return "Prompt with arguments: arg1='" + in.arg1 + "', arg2='" + in.arg2 + "'";
}

std::vector<prompt_message> with_resource(resource_argument in) {
    std::vector<prompt_message> messages;
    messages.emplace_back(content::embed(
        resource_contents::of_text(std::move(in.resource_uri), "Embedded resource content for testing.")));
    messages.emplace_back(content("Please process the embedded resource above."));
    return messages;
}

std::vector<prompt_message> with_image() {
    std::vector<prompt_message> messages;
    messages.emplace_back(content::image(square_png, "image/png"));
    messages.emplace_back(content("Please analyze the image above."));
    return messages;
}

}  // namespace

void add_prompts(server& s) {
    s.add_prompt("test_simple_prompt", "A text without arguments",
                 [] { return "This is a simple prompt for testing."; }, {.quick = true});
    prompt_options how;
    how.quick = true;
    how.complete["arg1"] = &complete_first;
    s.add_prompt("test_prompt_with_arguments", "A text with two arguments", &with_arguments, std::move(how));
    s.add_prompt("test_prompt_with_embedded_resource", "Brings a resource along", &with_resource, {.quick = true});
    s.add_prompt("test_prompt_with_image", "Brings a picture along", &with_image, {.quick = true});
}

}  // namespace keel::conformance
