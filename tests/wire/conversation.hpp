#pragma once

// Conversations between a client and a server as text. See README.md in this folder.

#include <keel/json.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace keel::conversations {

/// One line: a message of the client, an expected message of the server, or an event on the server.
struct step {
    enum class kind : unsigned char { client, server, silence, event };
    kind what = kind::event;
    std::size_t line = 0;
    std::string text = {};
    std::vector<std::string> versions = {};  // empty: all versions of the conversation
};

struct conversation {
    std::filesystem::path file = {};
    std::string title = {};
    std::vector<std::string> versions = {};
    std::vector<std::string> offers = {};
    std::size_t page_size = 1000;
    std::vector<step> steps = {};
};

/// Throws std::runtime_error with the line number if the text is invalid.
conversation parse(std::string_view text, std::filesystem::path file = {});
conversation read(const std::filesystem::path& file);

/// The named values of a conversation: "$state".
using names = std::map<std::string, json::value, std::less<>>;

/// Replaces names with values in a message of the client.
json::value fill_in(const json::value& v, const names& known);

/// Compares a message of the server with the expected one, member by member, and records new names. Returns "" if they
/// match, otherwise the path and the reason.
std::string difference(const json::value& expected, const json::value& got, names& known,
                       const std::string& path = "message");

/// Plays a conversation under one version. Returns "" if all messages match, otherwise the first mismatch: file and
/// line, expected and received message.
std::string play(const conversation& c, const std::string& version);

}  // namespace keel::conversations
