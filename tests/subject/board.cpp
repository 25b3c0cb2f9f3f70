#include "board.hpp"

namespace keel::subject {

record::presence::presence(record& r, const context& ctx, keel::loop* home) : record_(r) {
    {
        std::lock_guard lock(r.mutex_);
        r.context_ = ctx;
        r.home_ = home;
        ++r.runs_;
    }
    r.begun.raise();
}

record::presence::~presence() {
    {
        std::lock_guard lock(record_.mutex_);
        record_.home_ = nullptr;
    }
    record_.finished.raise();
}

void record::set_value(std::string v) {
    std::lock_guard lock(mutex_);
    value_ = std::move(v);
}

std::string record::value() const {
    std::lock_guard lock(mutex_);
    return value_;
}

void record::set_reason(std::string r) {
    std::lock_guard lock(mutex_);
    reason_ = std::move(r);
}

std::string record::reason() const {
    std::lock_guard lock(mutex_);
    return reason_;
}

flag* record::find(const std::string& what) {
    if (what == "begun") return &begun;
    if (what == "cancelled") return &cancelled;
    if (what == "cleaned_up") return &cleaned_up;
    if (what == "finished") return &finished;
    return nullptr;
}

bool record::with_context(std::function<void(context&)> work) {
    std::optional<context> saved;
    {
        std::lock_guard lock(mutex_);
        if (!context_) return false;
        saved = context_;
        // The call cannot end while the lock is held, so its loop exists.
        if (home_ && home_->post([work, ctx = *saved]() mutable { work(ctx); })) return true;
    }
    work(*saved);
    return true;
}

std::size_t record::next_number() {
    std::lock_guard lock(mutex_);
    return ++sent_;
}

std::size_t record::sent() const {
    std::lock_guard lock(mutex_);
    return sent_;
}

std::size_t record::runs() const {
    std::lock_guard lock(mutex_);
    return runs_;
}

std::shared_ptr<record> board::at(const std::string& key) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<record>& r = records_[key];
    if (!r) r = std::make_shared<record>();
    return r;
}

void board::forget_all() {
    std::map<std::string, std::shared_ptr<record>> all;
    std::lock_guard lock(mutex_);
    all.swap(records_);
}

void board::forget(const std::string& key) {
    std::lock_guard lock(mutex_);
    records_.erase(key);
}

std::size_t board::size() const {
    std::lock_guard lock(mutex_);
    return records_.size();
}

}  // namespace keel::subject
