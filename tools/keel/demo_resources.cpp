// Resources: text, binary, several contents in one result, and a template with completion.

#include "demo.hpp"
#include "demo_media.hpp"

#include <keel/base64.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace keel::demo {

struct planet_variables {
    std::string name;
};
KEEL_DESCRIBE(planet_variables, name)

namespace {

struct planet {
    const char* name;
    const char* about;
};
constexpr std::array<planet, 8> planets = {{{"earth", "The one with oceans"},
                                            {"jupiter", "The largest"},
                                            {"mars", "The red one"},
                                            {"mercury", "The smallest"},
                                            {"neptune", "The farthest"},
                                            {"saturn", "The one with the rings"},
                                            {"uranus", "The one with the tilted axis"},
                                            {"venus", "The hottest"}}};

constexpr const char* readme_text =
    "# Keel demo\n"
    "\n"
    "One of each feature: call tools, read demo://planets/mars, subscribe to demo://counter and call bump.\n";

std::string uri_of(const planet& p) { return std::string("demo://planets/") + p.name; }

/// Three per page, so that there are several pages. The cursor is the name of the last planet.
resource_page list_planets(context&, const std::string& cursor) {
    resource_page page;
    for (const planet& p : planets) {
        if (p.name <= cursor) continue;
        if (page.resources.size() == 3) {
            page.next = page.resources.back().name;
            break;
        }
        resource r;
        r.uri = uri_of(p);
        r.name = p.name;
        r.description = p.about;
        page.resources.push_back(std::move(r));
    }
    return page;
}

completion complete_planet(context&, const completion_request& request) {
    completion found;
    for (const planet& p : planets) {
        if (std::string_view(p.name).starts_with(request.value)) found.values.emplace_back(p.name);
    }
    return found;
}

std::string read_planet(planet_variables in) {
    auto at = std::find_if(planets.begin(), planets.end(), [&](const planet& p) { return p.name == in.name; });
    if (at == planets.end()) throw resource_not_found("demo://planets/" + in.name);
    return at->about;
}

}  // namespace

void add_resources(server& s) {
    resource readme;
    readme.uri = "demo://readme";
    readme.name = "readme";
    readme.title = "Read me";
    readme.description = "About the demo";
    readme.mime_type = "text/markdown";
    readme.size = std::string_view(readme_text).size();
    readme.annotations =
        annotations{.audience = {role::user}, .priority = 1.0, .last_modified = "2026-01-01T00:00:00Z"};
    s.add_resource(std::move(readme), [] { return readme_text; }, {.quick = true});

    resource boat;
    boat.uri = "demo://boat.png";
    boat.name = "boat.png";
    boat.description = "Binary: a picture";
    boat.mime_type = "image/png";
    s.add_resource(std::move(boat), [] { return bytes{base64_decode(boat_png).value()}; },
                   {.quick = true, .cache = cache_hint{.ttl = std::chrono::hours(1), .shared = true}});

    resource bundle;
    bundle.uri = "demo://bundle";
    bundle.name = "bundle";
    bundle.description = "Several contents in one result: text and binary";
    s.add_resource(std::move(bundle),
                   [] {
                       return std::vector<resource_contents>{
                           resource_contents::of_text("demo://bundle/words", "two of us"),
                           resource_contents::of_bytes("demo://bundle/sound", beep_wav(), "audio/wav"),
                       };
                   },
                   {.quick = true});

    resource_template each;
    each.uri_template = "demo://planets/{name}";
    each.name = "planet";
    each.title = "A planet";
    each.description = "A resource template; a function lists its resources and completes names";
    each.mime_type = "text/plain";
    template_options how;
    how.list = &list_planets;
    how.complete["name"] = &complete_planet;
    s.add_resource_template(std::move(each), &read_planet, std::move(how));
}

}  // namespace keel::demo
