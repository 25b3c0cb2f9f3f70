#pragma once

// The tools of a server at one moment. A table never changes: adding a tool makes a new one, so that calls which are
// running keep what they started with, on any thread.

#include "protocol/revision.hpp"

#include <keel/tool.hpp>

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace keel::server_side {

using tool = detail::tool_entry;

class tool_table {
public:
    tool_table() = default;
    /// In the order in which they were added. Names are unique.
    explicit tool_table(std::vector<std::shared_ptr<const tool>> tools);

    const std::vector<std::shared_ptr<const tool>>& all() const noexcept { return tools_; }
    const std::shared_ptr<const tool>* find(std::string_view name) const noexcept;
    /// `"tools":[…]` as this revision knows it. Made once and kept.
    const std::string& list(protocol::revision r) const;

private:
    std::vector<std::shared_ptr<const tool>> tools_;
    std::unordered_map<std::string_view, std::size_t> index_;
    // Sessions on several threads may ask for a list first at the same time.
    mutable std::array<std::once_flag, protocol::revision_count> once_;
    mutable std::array<std::string, protocol::revision_count> lists_;
};

/// Throws std::invalid_argument naming the tool and the field when the description cannot be served.
void check(const tool& t);

}  // namespace keel::server_side
