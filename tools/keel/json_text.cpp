#include "json_text.hpp"

#include "printable.hpp"

namespace keel::command {

namespace {

class json_printer {
public:
    explicit json_printer(bool colors) : colors_(colors) {}

    void print(const json::value& v, std::size_t indent) {
        bool object = v.is_object();
        if (!object && !v.is_array()) return token(color_of(v), v);
        out_ += object ? '{' : '[';
        std::size_t left = v.size();
        if (left != 0) out_ += '\n';
        auto item = [&](const json::value* key, const json::value& content) {
            out_.append(indent + 2, ' ');
            if (key) {
                token("\x1b[34m", *key);  // blue
                out_ += ": ";
            }
            print(content, indent + 2);
            out_ += --left != 0 ? ",\n" : "\n";
        };
        for (const json::member& each : v.members()) item(&each.name, each.content);
        for (const json::value& each : v.items()) item(nullptr, each);
        if (!v.empty()) out_.append(indent, ' ');
        out_ += object ? '}' : ']';
    }
    std::string take() { return std::move(out_); }

private:
    static const char* color_of(const json::value& v) {
        if (v.is_string()) return "\x1b[32m";            // green
        return v.is_number() ? "\x1b[36m" : "\x1b[35m";  // cyan, magenta
    }
    // Made printable here: the escape sequences of the colors must stay.
    void token(const char* color, const json::value& v) {
        std::string text = printable(json::to_string(v));
        out_ += colors_ ? color + text + "\x1b[0m" : text;
    }

    bool colors_;
    std::string out_;
};

}  // namespace

std::string json_text(const json::value& v, bool colors) {
    json_printer p(colors);
    p.print(v, 0);
    return p.take();
}

}  // namespace keel::command
