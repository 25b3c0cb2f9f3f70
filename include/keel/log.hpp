#pragma once

// The log of the library: records, functions that receive them, and ready-made formats and files.
//
//     server_options options;
//     options.log = keel::log_to(2, {.format = keel::log_format::json, .least = keel::log_level::info});  // standard error
//     options.log = [](const keel::log_record& r) { my_logger.write(r.message, r.tool); };                // another logger

#include <keel/log_level.hpp>
#include <keel/version.hpp>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace keel::inline KEEL_ABI {

/// One log message. The texts are valid during the call only; a text or number that is not known is empty or absent. Texts of a peer
/// are not escaped here: the formats below do it.
struct KEEL_API log_record {
    log_level level = log_level::info;
    std::chrono::system_clock::time_point time = {};
    std::string_view message = {};
    // About a request.
    std::string_view request_id = {};  // the JSON-RPC id
    std::string_view method = {};      // of JSON-RPC
    std::string_view tool = {};
    std::optional<std::chrono::nanoseconds> took = {};  // from the arrival of the request until now
    // About its client.
    std::string_view principal = {};
    std::string_view address = {};
    /// Of a refused HTTP request.
    int status = 0;
    /// Why a request was refused or cancelled. The message contains it too.
    std::string_view reason = {};
};

/// Receives log records: a function void(const log_record&) or void(log_level, std::string_view message). Empty: nothing is logged.
class KEEL_API log_sink {
    template <class F>
    static constexpr bool takes_text = std::is_invocable_v<F&, log_level, std::string_view>;
    template <class F>
    static constexpr bool takes_record = std::is_invocable_v<F&, const log_record&>;

public:
    log_sink() = default;
    log_sink(std::nullptr_t) noexcept {}
    /// Records below `least` are not even built. At debug the server also reports each request that ends.
    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, log_sink> && (takes_text<F> || takes_record<F>))
    log_sink(F f, log_level least = log_level::info) : least_(least) {
        if constexpr (requires { f.operator bool(); }) {
            if (!f) return;  // an empty std::function
        }
        if constexpr (takes_text<F>) {
            write_ = [f = std::move(f)](const log_record& r) mutable { f(r.level, r.message); };
        } else {
            write_ = std::move(f);
        }
    }

    explicit operator bool() const noexcept { return static_cast<bool>(write_); }
    /// False: records of this level are dropped, so there is no need to build them.
    bool wants(log_level level) const noexcept { return level >= least_ && write_; }

    void operator()(const log_record& record) const {
        if (wants(record.level)) write_(record);
    }
    void operator()(log_level level, std::string_view message) const {
        if (wants(level)) write_({.level = level, .time = std::chrono::system_clock::now(), .message = message});
    }

private:
    std::function<void(const log_record&)> write_;
    log_level least_ = log_level::debug;
};

enum class log_format : unsigned char {
    text,  // 2026-07-28T09:30:00.250Z warning greeter: handler failed: no such file request=7 tool=greet ms=1.204
    json,  // {"time":"2026-07-28T09:30:00.250Z","level":"warning","message":…}
};

/// Appends the record as one line, without a line end. Control characters are escaped and long texts are truncated, so a line has less
/// than 4096 bytes and no peer can forge one. `name` is the name of the program; may be empty.
KEEL_API void append_log_line(std::string& out, const log_record& record, log_format format,
                              std::string_view name = {});

/// A file, pipe or terminal for lines of text. A line that cannot be written at once, because the disk is full or because nobody reads
/// the pipe, is dropped and counted. (Writing to a file may wait for the disk: use a local one.) Thread-safe.
class KEEL_API log_file {
public:
    /// Opens the file for appending and creates it if it does not exist (mode 0640). Throws std::system_error.
    explicit log_file(std::string path);
    /// Writes to an open descriptor, such as 2 for standard error. The descriptor is not closed, and must stay open.
    explicit log_file(int descriptor);
    ~log_file();
    log_file(const log_file&) = delete;
    log_file& operator=(const log_file&) = delete;

    /// Writes the text and a line end. Returns false if the line was dropped.
    bool write_line(std::string_view text) noexcept;
    /// Opens the path again, after the file was renamed (log rotation). Lines that are written meanwhile go to either file. Throws
    /// std::system_error if that fails; the old file then stays in use. Does nothing for a descriptor.
    void reopen();
    /// Number of lines dropped so far.
    std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

private:
    enum class kind : unsigned char { file, pipe, socket };
    bool write_all(std::string_view line) noexcept;

    const std::string path_;  // "": a descriptor of the caller
    int fd_ = -1;
    kind kind_ = kind::file;
    std::atomic<bool> cut_{false};  // the last line was written in part
    std::atomic<std::uint64_t> dropped_{0};
    std::shared_ptr<void> guard_;  // against SIGPIPE
};

struct KEEL_API log_options {
    log_format format = log_format::text;
    log_level least = log_level::warning;  // the least severe level that is written
    std::string name = {};                 // of the program, in each line
};

/// A log_sink that writes to a file. After lines were dropped, the next line says how many.
KEEL_API log_sink log_to(std::shared_ptr<log_file> file, log_options how = {});
/// The same for a descriptor (2: standard error) or a path. Throws std::system_error if the file cannot be opened.
KEEL_API log_sink log_to(int descriptor, log_options how = {});
KEEL_API log_sink log_to(std::string path, log_options how = {});

}  // namespace keel
