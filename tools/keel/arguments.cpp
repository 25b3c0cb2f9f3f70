#include "arguments.hpp"

#include "exit_status.hpp"
#include "schema_properties.hpp"
#include "schema_types.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

namespace keel::command {

namespace {

std::string rest_of(std::istream& in, const std::string& what) {
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (in.bad()) throw usage_error("cannot read " + what);
    return text;
}

std::string file_text(const std::string& path) {
    std::error_code unknown;
    if (std::filesystem::is_directory(path, unknown))
        throw usage_error("cannot read " + path + ": it is a directory; @ takes a file");
    std::ifstream in(path, std::ios::binary);
    if (!in) throw usage_error("cannot open " + path + ": " + std::strerror(errno));
    return rest_of(in, path);
}

// "@file" is replaced with the content of the file, "@@x" with "@x".
std::string resolved(std::string_view text) {
    if (!text.starts_with('@')) return std::string(text);
    if (text.starts_with("@@")) return std::string(text.substr(1));
    return file_text(std::string(text.substr(1)));
}

json::value parsed(const std::string& what, std::string_view text) {
    json::document document;
    const json::value* v = document.read(text);
    if (!v) {
        throw usage_error(what + ": invalid JSON: " + document.error().what + " at byte " +
                          std::to_string(document.error().offset));
    }
    return *v;
}

std::optional<json::value> if_json(std::string_view text) {
    json::document document;
    const json::value* v = document.read(text);
    return v ? std::optional<json::value>(*v) : std::nullopt;
}

json::value by_types(const std::string& key, const std::string& text, const type_set& types) {
    if (types.only(type_set::string)) return json::value(text);
    auto v = if_json(text);
    if (types.unknown()) return v ? std::move(*v) : json::value(text);
    if (v && types.allows(*v)) return std::move(*v);
    if (types.has(type_set::string)) return json::value(text);
    throw usage_error(key + ": expected " + types.text() + ", found " + text + " (" + key +
                      ":=JSON is sent without this check)");
}

}  // namespace

given_arguments::given_arguments(std::span<const std::string> words) {
    if (words.size() == 1 && (words[0] == "-" || words[0].starts_with('{'))) {
        bool from_input = words[0] == "-";
        whole_ =
            from_input ? parsed("standard input", rest_of(std::cin, "standard input")) : parsed("arguments", words[0]);
        if (!whole_.is_object()) throw usage_error("invalid arguments: expected a JSON object");
        return;
    }
    for (const std::string& word : words) {
        auto equals = word.find('=');
        if (equals == std::string::npos || equals == 0)
            throw usage_error("invalid argument " + word +
                              ": expected key=value, one JSON object, or - to read it from standard input");
        bool json = word[equals - 1] == ':';
        std::string key = word.substr(0, json ? equals - 1 : equals);
        pair p{resolved(std::string_view(word).substr(equals + 1)), json};
        if (!json::is_utf8(key) || !json::is_utf8(p.text)) throw usage_error(key + ": invalid UTF-8");
        if (key.empty()) throw usage_error("missing argument name: " + word);
        std::vector<pair>& all = pairs_[key];
        if (all.empty()) order_.push_back(key);
        all.push_back(std::move(p));
        if (!json) needs_schema_ = true;
    }
}

json::value given_arguments::list_of(const std::string& key, const std::vector<pair>& given, const json::value& items,
                                     const json::value& root) const {
    json::value list = json::array();
    for (const pair& p : given)
        list.push_back(p.json ? parsed(key, p.text) : by_types(key, p.text, types_of(items, root)));
    return list;
}

json::value given_arguments::value_of(const std::string& key, const std::vector<pair>& given, const json::value& schema,
                                      const json::value& root) const {
    const json::value& items = resolved_schema(schema, root)["items"];
    type_set types = types_of(schema, root);
    if (given.size() > 1) {
        if (!types.unknown() && !types.has(type_set::array))
            throw usage_error("argument " + key + " is given " + std::to_string(given.size()) +
                              " times: expected one " + types.text());
        return list_of(key, given, items, root);
    }
    if (given[0].json) return parsed(key, given[0].text);
    // One element of a list: tags=x.
    auto v = if_json(given[0].text);
    if (types.only(type_set::array) && !(v && v->is_array())) return list_of(key, given, items, root);
    return by_types(key, given[0].text, types);
}

json::value given_arguments::with_schema(const json::value& input_schema) const {
    if (!whole_.is_null()) return whole_;
    json::value all = json::object();
    for (const std::string& key : order_) {
        const json::value* property = find_property(input_schema, key);
        all.append(key, value_of(key, pairs_.at(key), property ? *property : json::value(), input_schema));
    }
    return all;
}

std::map<std::string, std::string> given_arguments::as_texts() const {
    std::map<std::string, std::string> all;
    for (const json::member& each : whole_.members()) {
        auto text = each.content.if_string();
        if (!text) throw usage_error(std::string(each.key()) + ": prompt arguments must be strings");
        all.emplace(each.key(), *text);
    }
    for (const auto& [key, given] : pairs_) {
        if (given.size() > 1) throw usage_error("argument " + key + " is given twice");
        if (given[0].json) throw usage_error(key + ": prompt arguments must be strings; use " + key + "=...");
        all.emplace(key, given[0].text);
    }
    return all;
}

}  // namespace keel::command
