#include <keel/client.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace keel::inline KEEL_ABI {

namespace {
// Beyond this number the oldest entry is dropped; probing that server again costs one request.
constexpr std::size_t max_servers = 1024;
}  // namespace

struct era_memory::table {
    struct verdict {
        bool modern = false;
        std::uint64_t when = 0;
    };
    mutable std::mutex mutex;  // shared by clients on several loops
    std::map<std::string, verdict, std::less<>> verdicts;
    std::uint64_t last = 0;
};

era_memory::era_memory() : table_(std::make_unique<table>()) {}
era_memory::~era_memory() = default;

std::optional<bool> era_memory::is_modern(std::string_view server) const {
    std::lock_guard lock(table_->mutex);
    auto found = table_->verdicts.find(server);
    if (found == table_->verdicts.end()) return std::nullopt;
    return found->second.modern;
}

void era_memory::remember(std::string_view server, bool modern) {
    std::lock_guard lock(table_->mutex);
    auto& verdicts = table_->verdicts;
    auto found = verdicts.find(server);
    if (found == verdicts.end()) {
        if (verdicts.size() >= max_servers) {
            auto oldest = std::ranges::min_element(verdicts, {}, [](const auto& v) { return v.second.when; });
            verdicts.erase(oldest);
        }
        found = verdicts.emplace(std::string(server), table::verdict()).first;
    }
    found->second = {.modern = modern, .when = ++table_->last};
}

void era_memory::forget(std::string_view server) {
    std::lock_guard lock(table_->mutex);
    auto found = table_->verdicts.find(server);
    if (found != table_->verdicts.end()) table_->verdicts.erase(found);
}

}  // namespace keel
