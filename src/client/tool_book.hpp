#pragma once

// What is known of a server's tools since they were listed.

#include "protocol/mirrored_headers.hpp"

#include <keel/content.hpp>
#include <keel/schema.hpp>
#include <keel/types.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::client_side {

/// Of one session, on its loop only. Learns from every page of a tools/list, and forgets when the list has changed.
class tool_book {
public:
    using reporter = std::function<void(std::string_view)>;
    using header_list = std::vector<std::pair<std::string, std::string>>;

    /// More are not remembered: their results are not checked, and their calls carry no headers.
    static constexpr std::size_t max_tools = 10'000;
    /// What is remembered may take this much in all, about. Beyond it no more output schemas are kept: such results are not checked.
    static constexpr std::size_t max_bytes = 16 * 1024 * 1024;

    /// Learns a page. `mirrored`: over HTTP with 2026-07-28, where arguments go into headers too. Tools whose annotations for that are
    /// wrong are then taken out of the page, and reported with the reason (HDR-12, HDR-17). `learn` false does only that: it is an
    /// older list than the one that was forgotten.
    void take(std::vector<tool>& page, bool mirrored, const reporter& report, bool learn = true);
    /// Another one after each forget.
    std::uint64_t moment() const noexcept { return moment_; }
    bool knows(std::string_view name) const { return tools_.contains(name); }
    std::size_t size() const noexcept { return tools_.size(); }

    /// The headers of a call: `Mcp-Param-Region` and its encoded value. None for a tool that is not known.
    /// Throws keel::error for a number that no header may hold (not whole, or beyond 2^53-1): the server would have to refuse it.
    header_list headers_for(std::string_view name, const json::value& arguments) const;

    /// What is wrong with a result, seen from the schema that the tool has promised to keep; nothing when it is right, when there is
    /// no such schema, or when the tool says that it has failed (TOOL-10). Not for revisions before 2025-06-18.
    /// A schema that cannot be used (another dialect, references to elsewhere, too large) is reported once, and nothing is checked.
    std::optional<std::string> check(std::string_view name, const tool_result& result, const reporter& report = {});

    void forget() noexcept {
        tools_.clear();
        bytes_ = 0;
        full_ = false;
        ++moment_;
    }

private:
    struct parameter {
        std::string header;  // as its author spells it
        std::vector<std::string> path;
    };
    struct known_tool {
        std::vector<parameter> mirrored;
        json::value promised;  // until it is first needed: few of a server's tools are ever called
        schema output;
        std::size_t bytes = 0;
    };

    void keep(const std::string& name, known_tool learned, const reporter& report);
    void drop(const std::string& name);
    void say_full(const std::string& why, const reporter& report);

    std::map<std::string, known_tool, std::less<>> tools_;
    std::size_t bytes_ = 0;  // of all of them
    std::uint64_t moment_ = 0;
    bool full_ = false;  // and that has been reported
};

}  // namespace keel::client_side
