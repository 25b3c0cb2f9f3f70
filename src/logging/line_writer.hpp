#pragma once

// Builds one line of a log from fields, as text or JSON.

#include <keel/log.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::logging {

inline constexpr std::size_t max_message = 2000;  // bytes of the escaped text; longer ones are truncated
inline constexpr std::size_t max_field = 200;

/// Appends the text with control characters, quotes and backslashes escaped as in JSON. Invalid UTF-8 becomes U+FFFD. At most `max`
/// bytes and "…" are appended.
void append_escaped(std::string& out, std::string_view text, std::size_t max = max_field);
/// Appends "2026-07-28T09:30:00.250Z".
void append_time(std::string& out, std::chrono::system_clock::time_point t);
/// Appends milliseconds: "1.204".
void append_milliseconds(std::string& out, std::chrono::nanoseconds t);

/// JSON: {"time":…,"key":"text","key":1}. Text: time key=text key="a text with blanks" key=1.
class line_writer {
public:
    /// `out` must outlive this object.
    line_writer(std::string& out, log_format format, std::chrono::system_clock::time_point time);

    /// Appends a field; empty texts are omitted.
    void add(std::string_view key, std::string_view text, std::size_t max = max_field);
    void add(std::string_view key, std::int64_t number);
    void add(std::string_view key, std::chrono::nanoseconds t);
    /// Text only: appends words without a key.
    void add_words(std::string_view words, std::size_t max = max_field);
    void end();

private:
    void begin_field(std::string_view key);

    std::string& out_;
    const log_format format_;
};

}  // namespace keel::logging
