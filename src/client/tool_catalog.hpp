#pragma once

// What the client remembers of the tools that a server has listed: output schemas and mirrored arguments.

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

/// Belongs to one client; used on its loop only. Every page of tools/list adds to it; a changed tool list clears it.
class tool_catalog {
public:
    using reporter = std::function<void(std::string_view)>;
    using header_list = std::vector<std::pair<std::string, std::string>>;

    /// Maximum number of tools. Results of further tools are not validated, and their calls carry no Mcp-Param headers.
    static constexpr std::size_t max_tools = 10'000;
    /// Approximate maximum memory of the catalog. Beyond it no more output schemas are kept, and such results are not validated.
    static constexpr std::size_t max_bytes = 16 * 1024 * 1024;

    /// Adds the tools of a page. `mirrored` is true over HTTP with 2026-07-28, where arguments are repeated in headers: tools with
    /// invalid x-mcp-header annotations are then removed from the page and reported with the reason (HDR-12, HDR-17).
    /// With `remember` false it only removes those: the page is older than the last clear.
    void add(std::vector<tool>& page, bool mirrored, const reporter& report, bool remember = true);
    /// Changes with each clear.
    std::uint64_t generation() const noexcept { return generation_; }
    bool contains(std::string_view name) const { return tools_.contains(name); }
    std::size_t size() const noexcept { return tools_.size(); }

    /// The headers of a call: `Mcp-Param-Region` and its encoded value. Empty for an unknown tool.
    /// Throws keel::error for a number that is not an integer from -(2^53-1) to 2^53-1: the server would have to refuse it.
    header_list headers_for(std::string_view name, const json::value& arguments) const;

    /// Validates a result against the tool's output schema (TOOL-10). Returns the error message, or nullopt if the result is valid,
    /// has `is_error`, or the tool has no output schema. Must not be used for revisions before 2025-06-18.
    /// An unusable schema (unsupported dialect, external references, too large) is reported once; results are then not validated.
    std::optional<std::string> check(std::string_view name, const tool_result& result, const reporter& report = {});

    void clear() noexcept {
        tools_.clear();
        bytes_ = 0;
        full_ = false;
        ++generation_;
    }

private:
    struct parameter {
        std::string header;  // spelled as in the schema
        std::vector<std::string> path;
    };
    struct known_tool {
        std::vector<parameter> mirrored;
        json::value output_document;  // compiled at the first call: few of a server's tools are ever called
        schema output;
        std::size_t bytes = 0;
    };

    void keep(const std::string& name, known_tool learned, const reporter& report);
    void drop(const std::string& name);
    void report_full(const std::string& why, const reporter& report);

    std::map<std::string, known_tool, std::less<>> tools_;
    std::size_t bytes_ = 0;  // of all tools
    std::uint64_t generation_ = 0;
    bool full_ = false;  // a limit was reached and reported
};

}  // namespace keel::client_side
