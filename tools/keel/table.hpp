#pragma once

// Tables with aligned columns.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace keel::command {

class table {
public:
    explicit table(std::vector<std::string> headings);

    /// One cell per heading. Cells are made printable here.
    void add(const std::vector<std::string_view>& cells);
    bool empty() const noexcept { return rows_.size() == 1; }

    /// No line is wider than `columns` (0: unlimited). Empty columns are omitted. The last column is cut first, then
    /// the one before it, and the first column last.
    std::string text(std::size_t columns) const;

private:
    std::vector<std::vector<std::string>> rows_;  // the first row holds the headings
};

}  // namespace keel::command
