// Tools that return each kind of content, and one that fails.

#include "fixtures.hpp"

#include <vector>

namespace keel::conformance {

namespace {

content picture() { return content::image(square_png, "image/png"); }

std::vector<content> several_kinds() {
    std::vector<content> all;
    all.emplace_back("Multiple content types test:");
    all.push_back(picture());
    all.push_back(content::embed(resource_contents::of_text("test://mixed-content-resource",
                                                            R"({"test":"data","value":123})", "application/json")));
    return all;
}

}  // namespace

void add_content_tools(server& s) {
    s.add_tool("test_simple_text", "Gives a text", [] { return "This is a simple text response for testing."; },
               {.quick = true});
    s.add_tool("test_image_content", "Gives a picture", &picture, {.quick = true});
    s.add_tool("test_audio_content", "Gives a sound", [] { return content::audio(silence_wav, "audio/wav"); },
               {.quick = true});
    s.add_tool("test_embedded_resource", "Brings a resource along",
               [] {
                   return content::embed(
                       resource_contents::of_text("test://embedded-resource", "This is an embedded resource content."));
               },
               {.quick = true});
    s.add_tool("test_multiple_content_types", "Gives a text, a picture and a resource", &several_kinds,
               {.quick = true});
    s.add_tool("test_error_handling", "Fails",
               [] { return tool_result::failure("This tool intentionally returns an error for testing"); },
               {.quick = true});
}

}  // namespace keel::conformance
