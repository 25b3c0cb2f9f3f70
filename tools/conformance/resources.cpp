// Resources.

#include "fixtures.hpp"

#include <keel/base64.hpp>

#include <string>

namespace keel::conformance {

struct data_variables {
    std::string id;
};
KEEL_DESCRIBE(data_variables, id)

namespace {

resource described(std::string uri, std::string name, std::string description, std::string mime_type) {
    resource r;
    r.uri = std::move(uri);
    r.name = std::move(name);
    r.description = std::move(description);
    r.mime_type = std::move(mime_type);
    return r;
}

std::string data_of(data_variables in) {
    return json::to_string(json::object({{"id", in.id}, {"templateTest", true}, {"data", "Data for ID: " + in.id}}));
}

}  // namespace

void add_resources(server& s) {
    s.add_resource(described("test://static-text", "static-text", "A text", "text/plain"),
                   [] { return "This is the content of the static text resource."; }, {.quick = true});
    s.add_resource(described("test://static-binary", "static-binary", "A picture", "image/png"),
                   [] { return bytes{base64_decode(square_png).value()}; }, {.quick = true});
    s.add_resource(described("test://watched-resource", "watched-resource", "To subscribe to", "text/plain"),
                   [] { return "Watched resource content"; }, {.quick = true});

    resource_template data;
    data.uri_template = "test://template/{id}/data";
    data.name = "template-data";
    data.description = "Data by its id";
    data.mime_type = "application/json";
    template_options how;
    how.quick = true;
    s.add_resource_template(std::move(data), &data_of, std::move(how));
}

}  // namespace keel::conformance
