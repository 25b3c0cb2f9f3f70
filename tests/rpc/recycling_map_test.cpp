// The map of requests behaves like std::map in insertion order, and reuses its memory.

#include "rpc/recycling_map.hpp"
#include "harness.hpp"

#include <map>
#include <random>

using namespace keel::rpc;

namespace {

struct spread {
    std::size_t operator()(int n) const noexcept { return static_cast<std::size_t>(n); }
};
struct crowded {  // nearly all keys collide
    std::size_t operator()(int n) const noexcept { return static_cast<std::size_t>(n % 3); }
};

/// Applies the same random operations to both maps and compares them after each one.
template <class Hash>
void compare(unsigned seed, unsigned keys) {
    recycling_map<int, std::string, Hash> map;
    std::map<int, std::string> expected;
    std::vector<int> order;
    std::mt19937 random(seed);
    bool same = true;
    auto forget = [&](int key) {
        expected.erase(key);
        std::erase(order, key);
    };
    for (int i = 0; i < 5000 && same; ++i) {
        int key = static_cast<int>(random() % keys);
        switch (random() % 5) {
            case 0:
            case 1:
                if (map.contains(key)) break;
                map.add(key, "a text that is long enough to be allocated " + std::to_string(i));
                expected[key] = map.find(key)->second;
                order.push_back(key);
                break;
            case 2:
                same = map.erase(key) == expected.contains(key);
                forget(key);
                break;
            case 3:
                if (auto at = map.find(key); at != map.end()) {
                    same = at->second == expected[key];
                    map.erase(at);
                    forget(key);
                } else {
                    same = !expected.contains(key);
                }
                break;
            default:
                if (random() % 500 != 0) break;
                map.clear();
                expected.clear();
                order.clear();
        }
        same = same && map.size() == expected.size();
        if (i % 97 != 0) continue;
        std::size_t n = 0;
        for (auto& [each, text] : map) same = same && n < order.size() && order[n++] == each && expected[each] == text;
        same = same && n == order.size();
    }
    CHECK(same);
}

}  // namespace

TEST_CASE("a map of requests behaves like std::map and keeps insertion order") {
    for (unsigned seed = 0; seed < 6; ++seed) {
        CAPTURE(seed);
        compare<spread>(seed, 20);
        compare<spread>(seed, 700);
        compare<crowded>(seed, 60);
    }
}
