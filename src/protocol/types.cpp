// Functions of the protocol's value types.

#include <keel/base64.hpp>
#include <keel/types_json.hpp>

#include <array>

namespace keel::inline KEEL_ABI {

resource_contents resource_contents::of_text(std::string uri, std::string text, std::string mime_type) {
    resource_contents made;
    made.uri = std::move(uri);
    made.mime_type = std::move(mime_type);
    made.text = std::move(text);
    return made;
}

resource_contents resource_contents::of_bytes(std::string uri, std::string_view bytes, std::string mime_type) {
    resource_contents made;
    made.uri = std::move(uri);
    made.mime_type = std::move(mime_type);
    made.blob = base64_encode(bytes);
    return made;
}

std::optional<std::string> resource_contents::bytes() const { return blob ? base64_decode(*blob) : std::nullopt; }

std::string sampling_result::text() const {
    std::string all;
    for (const keel::content& block : content) all += block.text();
    return all;
}

namespace {

enum class choice_mode : unsigned char { automatic, required, none };
KEEL_DESCRIBE_ENUM(choice_mode, (automatic, "auto"), required, none)

struct choice {
    choice_mode mode = choice_mode::automatic;
};
KEEL_DESCRIBE(choice, (mode, defaulted))

}  // namespace

json::value keel_encode(tool_choice from) {
    return encode(choice{static_cast<choice_mode>(static_cast<unsigned char>(from))});
}

bool keel_decode(const json::value& from, tool_choice& into, decode_error& error) {
    choice read;
    if (!decode(from, read, error)) return false;
    into = static_cast<tool_choice>(static_cast<unsigned char>(read.mode));
    return true;
}

}  // namespace keel
