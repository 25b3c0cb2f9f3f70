#include "table.hpp"

#include "printable.hpp"

#include <algorithm>
#include <utility>

namespace keel::command {

namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t fair = 16;  // columns; narrower ones are hard to read
constexpr std::size_t least = 4;  // columns; narrower ones are useless, so let the terminal wrap instead

std::size_t sum_of(const std::vector<std::size_t>& widths) {
    std::size_t sum = 0;
    for (std::size_t each : widths) sum += each;
    return sum + gap * (widths.size() - 1);
}

/// Shrinks the last column from `from` on until the table fits, then the one before it.
void shrink_from_the_right(std::vector<std::size_t>& widths, std::size_t from, std::size_t columns,
                           std::size_t down_to) {
    for (std::size_t i = widths.size(); i-- > from;) {
        std::size_t sum = sum_of(widths);
        if (sum <= columns) return;
        if (widths[i] > down_to) widths[i] = std::max(down_to, widths[i] - std::min(widths[i], sum - columns));
    }
}

// The first column has the name that the next command needs: it is cut last.
void shrink(std::vector<std::size_t>& widths, std::size_t columns) {
    shrink_from_the_right(widths, 1, columns, fair);
    shrink_from_the_right(widths, 1, columns, least);
    shrink_from_the_right(widths, 0, columns, least);
}

}  // namespace

table::table(std::vector<std::string> headings) { rows_.push_back(std::move(headings)); }

void table::add(const std::vector<std::string_view>& cells) {
    std::vector<std::string> row;
    for (std::string_view each : cells) row.push_back(printable_line(each));
    rows_.push_back(std::move(row));
}

std::string table::text(std::size_t columns) const {
    std::vector<std::size_t> shown;
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < rows_[0].size(); ++i) {
        std::size_t widest = 0;
        for (std::size_t row = 1; row < rows_.size(); ++row) widest = std::max(widest, width_of(rows_[row][i]));
        if (widest == 0) continue;
        shown.push_back(i);
        widths.push_back(std::max(widest, width_of(rows_[0][i])));
    }
    if (shown.empty()) return {};
    if (columns != 0) shrink(widths, columns);

    std::string out;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t i = 0; i < shown.size(); ++i) {
            std::string cell = cut_to(row[shown[i]], widths[i]);
            line += cell;
            if (i + 1 < shown.size()) line.append(widths[i] - width_of(cell) + gap, ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

}  // namespace keel::command
