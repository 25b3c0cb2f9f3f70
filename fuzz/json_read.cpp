#include <keel/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// Every value that can be read can be copied and written, and is read back as the same value.

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace keel;
    static json::document source;  // reused, as by a connection
    const std::string_view text(reinterpret_cast<const char*>(data), size);

    const json::value* read = source.read(text, {.max_depth = 64});
    if (!read) {
        require(source.error().offset <= size);
        require(*source.error().what != '\0');
        return 0;
    }
    require(json::is_utf8(text));

    const json::value copy = *read;
    require(copy == *read);
    require(!copy.borrowed());

    std::string out;
    require(json::write(out, *read));
    require(json::is_utf8(out));
    require(out.find('\n') == std::string::npos);

    const json::value again = json::parse(out, {.max_depth = 64});
    require(again == copy);
    require(json::to_string(again) == out);

    json::value changed = copy;
    if (changed.is_object()) {
        for (const json::member& m : copy.members()) require(changed.erase(m.key()));
        require(changed.empty());
    } else if (changed.is_array()) {
        changed.push_back(copy);
        require(changed.size() == copy.size() + 1);
        require(changed.items().back() == copy);
    }
    return 0;
}
