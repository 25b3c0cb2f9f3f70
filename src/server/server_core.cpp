#include "server/server_core.hpp"

#include "protocol/meta_keys.hpp"
#include "protocol/revisions.hpp"

#include <keel/types_json.hpp>

#include <algorithm>

namespace keel::inline KEEL_ABI::server_side {

namespace {

thread_local const server_core* handler_runs_for = nullptr;

std::shared_ptr<rpc::flight_budget> make_budget(std::size_t limit) {
    auto budget = std::make_shared<rpc::flight_budget>();
    budget->limit = limit;
    return budget;
}

std::vector<state_key> keys_of(const asking_options& how) {
    std::vector<state_key> keys;
    keys.reserve(how.keys.size());
    for (const std::string& text : how.keys) keys.push_back(state_key_from_text(text));
    return keys;
}

void check(const asking_options& how) {
    keys_of(how);  // throws if a key is invalid
    auto refuse = [](const char* what) { throw std::invalid_argument(std::string("keel: server asking: ") + what); };
    if (how.expires_after < std::chrono::seconds(1) || how.expires_after > std::chrono::hours(24 * 366)) {
        refuse("expires_after must be between a second and a year");
    }
    if (how.max_rounds < 2) refuse("max_rounds must be at least 2: each question needs two rounds");
    if (how.max_state > 512 * 1024) refuse("max_state must be at most 512 KiB");
    if (how.patience < duration::zero()) refuse("patience must not be negative");
}

void must_be_text(const char* field, std::string_view text) {
    if (!json::is_utf8(text)) throw std::invalid_argument(std::string("keel: server ") + field + " must be UTF-8");
}

}  // namespace

bool in_handler_of(const server_core& s) noexcept { return handler_runs_for == &s; }
handler_mark::handler_mark(const server_core& s) noexcept : before_(std::exchange(handler_runs_for, &s)) {}
handler_mark::~handler_mark() { handler_runs_for = before_; }

server_core::server_core(implementation who, server_options how)
    : about(std::move(who)), options(std::move(how)), budget(make_budget(options.limits.max_in_flight_total)) {
    check(options.asking);
    if (about.name.empty()) throw std::invalid_argument("keel: server name must not be empty");
    must_be_text("name", about.name);
    must_be_text("version", about.version);
    must_be_text("title", about.title);
    must_be_text("description", about.description);
    must_be_text("website_url", about.website_url);
    must_be_text("instructions", options.instructions);
    for (const auto& [name, hint] : options.cache) {
        protocol::method m = protocol::find_method(name);
        if (!protocol::is_cacheable(m)) {
            throw std::invalid_argument("keel: server cache: results of method \"" + name + "\" are not cacheable");
        }
        if (hint.ttl.count() < 0)
            throw std::invalid_argument("keel: server cache: \"" + name + "\": ttl must not be negative");
        hints_[static_cast<std::size_t>(m)] = hint;
    }
    for (const auto& [id, settings] : options.extensions) {
        if (!protocol::is_valid_extension_id(id)) {
            throw std::invalid_argument("keel: server extension \"" + rpc::printable(id) +
                                        "\": the identifier needs a prefix, such as com.example/name");
        }
        if (!settings.is_object()) {
            throw std::invalid_argument("keel: server extension \"" + id + "\": settings must be a JSON object");
        }
        std::string text;
        if (!json::write(text, settings)) {
            throw std::invalid_argument("keel: server extension \"" + id + "\": settings are not valid JSON");
        }
    }
    server_info_member_ = R"("io.modelcontextprotocol/serverInfo":)" + info_json(protocol::latest);
    modern_tail_ = R"(,"_meta":{)" + server_info_member_ + "}}";
}

std::string server_core::info_json(protocol::revision r) const {
    return json::to_string(protocol::encode_for(r, about));
}

void server_core::add_tool(detail::tool_entry entry, bool replace) {
    auto made = std::make_shared<tool>(std::move(entry));
    made->stats_slot = stats.slot_of_tool(made->about.name);
    tools.put(std::move(made), replace);
}

bool server_core::offers_resources() const {
    return options.declare_resources || !resources.empty() || !templates.empty();
}
bool server_core::offers_prompts() const { return options.declare_prompts || !prompts.empty(); }

bool server_core::offers_completions() const {
    if (options.declare_completions) return true;
    auto some_template = templates.snapshot();
    for (std::size_t i = 0; i < some_template->size(); ++i) {
        if (!(*some_template)[i]->options.complete.empty()) return true;
    }
    auto some_prompt = prompts.snapshot();
    for (std::size_t i = 0; i < some_prompt->size(); ++i) {
        if (!(*some_prompt)[i]->complete.empty()) return true;
    }
    return false;
}

std::string server_core::capabilities(protocol::revision r) const {
    json::value list_changed = json::object({{"listChanged", true}});
    json::value v = json::object({{"logging", json::object()}, {"tools", list_changed}});
    if (offers_resources()) v.append("resources", json::object({{"subscribe", true}, {"listChanged", true}}));
    if (offers_prompts()) v.append("prompts", list_changed);
    if (protocol::has_completions_capability(r) && offers_completions()) v.append("completions", json::object());
    if (!options.extensions.empty() && protocol::has_extensions(r)) {
        json::value& all = v.append("extensions", json::object());
        for (const auto& [id, settings] : options.extensions) all.append(id, settings);
    }
    return json::to_string(v);
}

void server_core::set_limits(const limits& bounds, std::size_t max_connections) {
    options.limits = bounds;
    options.max_connections = max_connections;
    budget = make_budget(bounds.max_in_flight_total);
}

server_health server_core::health() const {
    server_health h;
    h.in_flight = budget->used;
    h.requests = totals.requests;
    h.dropped_late = totals.dropped_late;
    h.rejected_input = totals.rejected_input;
    h.abandoned = totals.abandoned;
    h.methods = stats.read();
    return h;
}

const state_sealer& server_core::sealer() const {
    std::call_once(sealer_once_, [this] { sealer_ = std::make_unique<const state_sealer>(keys_of(options.asking)); });
    return *sealer_;
}

const std::string& server_core::audience() const noexcept {
    return options.asking.audience.empty() ? about.name : options.asking.audience;
}

std::shared_ptr<async::worker_pool> server_core::workers() {
    std::lock_guard lock(mutex_);
    if (!workers_) workers_ = std::make_shared<async::worker_pool>(options.worker_threads);
    return workers_;
}

void server_core::run_on_worker(std::function<void()> work) {
    std::shared_ptr<async::worker_pool> pool = workers();
    // Cancelled functions no longer count as in flight, but may still be in the queue.
    if (pool->queued() >= options.limits.max_in_flight_total) {
        rpc::failure full = rpc::overloaded_error("too many functions are waiting for a worker thread");
        throw error(full.code, full.message, std::move(full.data));
    }
    pool->submit([this, work = std::move(work)]() mutable {
        handler_mark mark(*this);
        work();
    });
}

std::shared_ptr<async::worker_pool> server_core::started_workers() const {
    std::lock_guard lock(mutex_);
    return workers_;
}

void server_core::report(const log_record& record) const noexcept {
    if (!logs(record.level)) return;
    std::uint64_t left_out = 0;
    {
        std::lock_guard lock(report_mutex_);
        if (!reports_.take(std::chrono::steady_clock::now())) {
            ++reports_left_out_;
            return;
        }
        left_out = std::exchange(reports_left_out_, 0);
    }
    if (left_out > 0) log(log_level::warning, std::to_string(left_out) + " further messages suppressed");
    log(record);
}

void server_core::log(log_record record) const noexcept {
    const log_sink& sink = log_sink_of();
    if (!sink.wants(record.level)) return;
    record.time = std::chrono::system_clock::now();
    try {
        sink(record);
    } catch (const std::exception&) {  // an error of the log function cannot be logged
    }
}

}  // namespace keel::server_side
