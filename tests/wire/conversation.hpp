#pragma once

// Conversations between a client and a server, as text. README.md beside this file tells how they are written.

#include <keel/json.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace keel::conversations {

/// One line: what the client says, what the server must say, or what happens on the server.
struct step {
    enum class kind : unsigned char { client, server, silence, event };
    kind what = kind::event;
    std::size_t line = 0;
    std::string text = {};
    std::vector<std::string> versions = {};  // empty: all of the conversation's
};

struct conversation {
    std::filesystem::path file = {};
    std::string title = {};
    std::vector<std::string> versions = {};
    std::vector<std::string> offers = {};
    std::size_t page_size = 1000;
    std::vector<step> steps = {};
};

/// Throws std::runtime_error with the line when it is not one.
conversation parse(std::string_view text, std::filesystem::path file = {});
conversation read(const std::filesystem::path& file);

/// Values that a conversation has given names: "$state".
using names = std::map<std::string, json::value, std::less<>>;

/// Puts values in the place of names in what the client says.
json::value fill_in(const json::value& v, const names& known);

/// Compares what the server said with what it should say, member by member, and learns the names that are new. "" when it
/// fits, else where and why not.
std::string difference(const json::value& expected, const json::value& got, names& known,
                       const std::string& path = "message");

/// Plays it under one version against a server that offers what it says. "" when everything went as written, else the
/// first place where it did not: file and line, what was expected, what came.
std::string play(const conversation& c, const std::string& version);

}  // namespace keel::conversations
