#pragma once

// Parses the output of an HTTP server on one connection like a client: responses, chunks, events. Strict: invalid bytes
// are an error and are not skipped.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace keel::test {

struct seen_event {
    std::string id = {};
    std::string event = {};
    std::string data = {};
    std::string retry = {};
};

struct seen_answer {
    int status = 0;
    std::map<std::string, std::string> headers = {};  // names in lower case
    std::string body = {};                            // without chunk framing; if incomplete, the part so far
    bool stream = false;                              // text/event-stream
    bool complete = false;
    std::size_t comments = 0;
    std::vector<seen_event> events = {};  // complete events

    std::string header(const std::string& name) const {
        auto at = headers.find(name);
        return at == headers.end() ? "" : at->second;
    }
    /// The data of the events that contain messages, or the body.
    std::vector<std::string> messages() const;
};

struct seen_output {
    std::vector<seen_answer> answers = {};  // the last one may be incomplete
    std::size_t continues = 0;              // 100 Continue
    std::string problem = {};               // "" while everything is valid HTTP
    std::size_t unread = 0;                 // bytes of an incomplete head
};

/// `closed`: no more bytes will come.
seen_output read_answers(std::string_view bytes, bool closed);

}  // namespace keel::test
