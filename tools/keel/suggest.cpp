#include "suggest.hpp"

#include <algorithm>

namespace keel::command {

namespace {

constexpr std::size_t longest = 64;  // longer words are not compared

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool begins_with(std::string_view text, std::string_view with) {
    return with.size() >= 3 && text.size() >= with.size() &&
           std::equal(with.begin(), with.end(), text.begin(), [](char a, char b) { return small(a) == small(b); });
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
    // Three rows of the table are enough: a swap looks two rows back.
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            std::size_t change = small(a[i - 1]) == small(b[j - 1]) ? 0 : 1;
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
            bool swapped = i > 1 && j > 1 && small(a[i - 1]) == small(b[j - 2]) && small(a[i - 2]) == small(b[j - 1]);
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(last);
        last.swap(row);
    }
    return last[b.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known) {
    if (word.empty() || word.size() > longest) return std::nullopt;
    std::optional<std::string> found;
    std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string& each : known) {
        if (each.size() > longest) continue;
        std::size_t distance = edit_distance(word, each);
        if (distance < least) {
            least = distance;
            found = each;
        }
    }
    if (found) return found;
    for (const std::string& each : known) {
        if (begins_with(each, word) || begins_with(word, each)) return each;
    }
    return std::nullopt;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
    auto found = nearest(word, known);
    return found ? "; did you mean " + *found + "?" : std::string();
}

std::string listed(std::span<const std::string> words, std::size_t at_most) {
    std::string all;
    for (std::size_t i = 0; i < std::min(words.size(), at_most); ++i) all += (all.empty() ? "" : ", ") + words[i];
    if (words.size() > at_most) all += " and " + std::to_string(words.size() - at_most) + " more";
    return all;
}

}  // namespace keel::command
