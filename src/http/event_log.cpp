#include "http/event_log.hpp"

#include <charconv>

namespace keel::inline KEEL_ABI::http {

namespace {
// Memory of an entry without its text.
constexpr std::size_t overhead = 64;
}  // namespace

std::uint64_t event_log::add(rpc::stream_id stream, std::string_view data) {
    std::uint64_t number = next_++;
    span& s = streams_[stream];
    if (s.first == 0) s.first = number;
    s.last = number;
    events_.push_back({stream, number, std::string(data)});
    set_bytes(bytes_ + data.size() + overhead);
    const auto too_many = [this] { return events_.size() > max_events_ || bytes_ > max_bytes_ || budget_.exceeded(); };
    while (!events_.empty() && too_many()) evict_oldest();
    return number;
}

void event_log::evict_oldest() {
    if (events_.empty()) return;
    const entry& e = events_.front();
    auto at = streams_.find(e.stream);
    if (at != streams_.end()) at->second.evicted = e.number;
    set_bytes(bytes_ - e.data.size() - overhead);
    events_.pop_front();
}

std::string event_log::id_of(rpc::stream_id stream, std::uint64_t number) {
    return std::to_string(stream) + '-' + std::to_string(number);
}

std::optional<event_log::position> event_log::read_id(std::string_view id) {
    position p;
    const char* end = id.data() + id.size();
    auto first = std::from_chars(id.data(), end, p.stream);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
    auto second = std::from_chars(first.ptr + 1, end, p.number);
    if (second.ec != std::errc() || second.ptr != end || id_of(p.stream, p.number) != id) return std::nullopt;
    return p;
}

bool event_log::can_resume(const position& from) const {
    auto at = streams_.find(from.stream);
    if (at == streams_.end()) return false;
    const span& s = at->second;
    return from.number >= s.first && from.number <= s.last && from.number >= s.evicted;
}

void event_log::forget(rpc::stream_id stream) {
    auto at = streams_.find(stream);
    if (at == streams_.end()) return;
    bool any_left = at->second.evicted < at->second.last;
    streams_.erase(at);
    if (!any_left) return;
    std::size_t left = bytes_;
    std::erase_if(events_, [&](const entry& e) {
        if (e.stream != stream) return false;
        left -= e.data.size() + overhead;
        return true;
    });
    set_bytes(left);
}

}  // namespace keel::http
