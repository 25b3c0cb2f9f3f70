#pragma once

// Aligned columns for people.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace keel::command {

class table {
public:
    explicit table(std::vector<std::string> headings);

    /// As many cells as there are headings, as the server gave them: they are made printable here.
    void add(const std::vector<std::string_view>& cells);
    bool empty() const noexcept { return rows_.size() == 1; }

    /// No line is longer than `columns`; 0: as long as it takes. Columns in which nothing stands are left out. The last one
    /// gives way first, then the one before it; the first is cut only when nothing else is left to cut.
    std::string text(std::size_t columns) const;

private:
    std::vector<std::vector<std::string>> rows_;  // the first holds the headings
};

}  // namespace keel::command
