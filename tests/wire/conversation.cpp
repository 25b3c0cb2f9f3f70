#include "wire/conversation.hpp"

#include "protocol/revision.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace keel::conversations {

namespace {

std::vector<std::string> words_of(std::string_view text) {
    std::istringstream in{std::string(text)};
    return {std::istream_iterator<std::string>(in), {}};
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
    return text;
}

[[noreturn]] void refuse(const std::filesystem::path& file, std::size_t line, const std::string& why) {
    throw std::runtime_error(file.filename().string() + ":" + std::to_string(line) + ": " + why);
}

/// Parses "legacy", "all", "2025-06-18", "2025-06-18+" (and later), "-2025-06-18" (and earlier). Later and earlier are
/// limited to legacy revisions.
std::vector<std::string> versions_of(std::string_view words) {
    std::vector<std::string> all(protocol::revision_names.begin(), protocol::revision_names.end());
    std::vector<std::string> legacy(all.begin(), all.end() - 1);
    std::vector<std::string> named;
    for (const std::string& word : words_of(words)) {
        std::string_view w = word;
        bool later = w.ends_with('+');
        bool earlier = w.starts_with('-');
        if (later) w.remove_suffix(1);
        if (earlier) w.remove_prefix(1);
        for (const std::string& each : all) {
            bool old = each != all.back();
            if (w == "all" || (w == "legacy" && old) || w == each || (later && old && each > w) ||
                (earlier && old && each < w)) {
                named.push_back(each);
            }
        }
        if (w != "all" && w != "legacy" && std::find(all.begin(), all.end(), w) == all.end()) {
            throw std::runtime_error("unknown version: " + word);
        }
    }
    return named;
}

class parser {
public:
    parser(std::string_view text, std::filesystem::path file) : text_(text) { c_.file = std::move(file); }

    conversation run() {
        while (!text_.empty()) {
            std::size_t end = text_.find('\n');
            std::string_view line = text_.substr(0, end);
            text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
            ++number_;
            take(line);
        }
        if (c_.title.empty()) refuse(c_.file, 1, "missing title: the first line must be # …");
        if (c_.versions.empty()) refuse(c_.file, 1, "missing line: versions: …");
        return std::move(c_);
    }

private:
    void take(std::string_view line) {
        if (trimmed(line).empty()) return;
        if (line.front() == ' ' || line.front() == '\t') {  // continuation
            if (c_.steps.empty()) refuse(c_.file, number_, "continuation line without a message");
            c_.steps.back().text += ' ';
            c_.steps.back().text += trimmed(line);
            return;
        }
        if (line.front() == '#') {
            if (c_.title.empty()) c_.title = trimmed(line.substr(1));
            return;
        }
        step s;
        s.line = number_;
        if (line.front() == '[') {
            std::size_t end = line.find(']');
            if (end == std::string_view::npos) refuse(c_.file, number_, "missing ]");
            s.versions = versions_in(line.substr(1, end - 1));
            line = trimmed(line.substr(end + 1));
        }
        if (line.starts_with("-->")) {
            s.what = step::kind::client;
            s.text = trimmed(line.substr(3));
        } else if (line.starts_with("<--")) {
            s.text = trimmed(line.substr(3));
            s.what = s.text == "nothing" ? step::kind::silence : step::kind::server;
        } else if (line.starts_with("!")) {
            s.text = trimmed(line.substr(1));
        } else {
            return take_setting(line);
        }
        c_.steps.push_back(std::move(s));
    }

    void take_setting(std::string_view line) {
        std::size_t colon = line.find(':');
        std::string_view name = line.substr(0, colon);
        std::string_view value = colon == std::string_view::npos ? "" : trimmed(line.substr(colon + 1));
        if (name == "versions") c_.versions = versions_in(value);
        else if (name == "offers") c_.offers = words_of(value);
        else if (name == "page-size") c_.page_size = std::stoul(std::string(value));
        else refuse(c_.file, number_, "unknown line: expected -->, <--, ! or a setting: " + std::string(line));
    }

    std::vector<std::string> versions_in(std::string_view text) const {
        try {
            return versions_of(text);
        } catch (const std::runtime_error& e) {
            refuse(c_.file, number_, e.what());
        }
    }

    std::string_view text_;
    std::size_t number_ = 0;
    conversation c_;
};

bool is_name(std::string_view text) { return text.size() > 1 && text.front() == '$'; }

std::string shown(const json::value& v) { return json::to_string(v); }

bool same_scalar(const json::value& a, const json::value& b) {
    if (a.is_number() && b.is_number()) return a.as_double() == b.as_double();
    return a == b;
}

}  // namespace

conversation parse(std::string_view text, std::filesystem::path file) { return parser(text, std::move(file)).run(); }

conversation read(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw std::runtime_error("cannot open " + file.string());
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    return parse(text, file);
}

json::value fill_in(const json::value& v, const names& known) {
    if (auto text = v.if_string(); text && is_name(*text)) {
        auto at = known.find(*text);
        if (at == known.end()) throw std::runtime_error("unknown name " + std::string(*text));
        return at->second;
    }
    if (v.is_array()) {
        json::value out = json::array();
        for (const json::value& each : v.items()) out.push_back(fill_in(each, known));
        return out;
    }
    if (v.is_object()) {
        json::value out = json::object();
        for (const json::member& m : v.members()) out.append(std::string(m.key()), fill_in(m.content, known));
        return out;
    }
    return v;
}

std::string difference(const json::value& expected, const json::value& got, names& known, const std::string& path) {
    if (auto text = expected.if_string()) {
        if (*text == "...") return {};
        if (is_name(*text)) {
            auto [at, is_new] = known.emplace(*text, got);
            if (is_new || at->second == got) return {};
            return path + ": expected " + std::string(*text) + ", which is " + shown(at->second) + ", not " +
                   shown(got);
        }
    }
    if (expected.is_object() && got.is_object()) {
        bool open = expected.contains("...");
        for (const json::member& m : expected.members()) {
            if (m.key() == "...") continue;
            const json::value* there = got.find(m.key());
            if (!there) return path + "." + std::string(m.key()) + " is missing";
            auto why = difference(m.content, *there, known, path + "." + std::string(m.key()));
            if (!why.empty()) return why;
        }
        for (const json::member& m : got.members()) {
            if (!open && !expected.contains(m.key())) {
                return path + "." + std::string(m.key()) + " is not expected: " + shown(m.content);
            }
        }
        return {};
    }
    if (expected.is_array() && got.is_array()) {
        for (std::size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
            auto why = difference(expected.at(i), got.at(i), known, path + "[" + std::to_string(i) + "]");
            if (!why.empty()) return why;
        }
        if (expected.size() == got.size()) return {};
        return path + ": expected " + std::to_string(expected.size()) + " elements, not " + std::to_string(got.size());
    }
    if (same_scalar(expected, got)) return {};
    return path + ": expected " + shown(expected) + ", not " + shown(got);
}

}  // namespace keel::conversations
