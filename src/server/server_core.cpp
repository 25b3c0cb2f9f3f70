#include "server/server_core.hpp"

#include <algorithm>
#include <climits>

#include <poll.h>
#include <unistd.h>

namespace keel::server_side {

namespace {

thread_local const server_core* handler_runs_for = nullptr;

std::shared_ptr<rpc::flight_budget> make_budget(std::size_t limit) {
    auto budget = std::make_shared<rpc::flight_budget>();
    budget->limit = limit;
    return budget;
}

// Many hosts never read a server's standard error. A full pipe must not hold up the loop: the line is lost instead.
void write_to_stderr(std::string line) {
    line.resize(std::min<std::size_t>(line.size(), PIPE_BUF - 1));  // a pipe that is writable takes that much
    line += '\n';
    pollfd out = {STDERR_FILENO, POLLOUT, 0};
    if (poll(&out, 1, 0) != 1 || (out.revents & (POLLERR | POLLHUP)) || !(out.revents & POLLOUT)) return;
    [[maybe_unused]] ssize_t n = write(STDERR_FILENO, line.data(), line.size());
}

void must_be_text(const char* field, std::string_view text) {
    if (!json::is_utf8(text)) throw std::invalid_argument(std::string("keel: server ") + field + " is not UTF-8");
}

}  // namespace

bool in_handler_of(const server_core& s) noexcept { return handler_runs_for == &s; }
handler_mark::handler_mark(const server_core& s) noexcept : before_(std::exchange(handler_runs_for, &s)) {}
handler_mark::~handler_mark() { handler_runs_for = before_; }

server_core::server_core(implementation who, server_options how)
    : about(std::move(who)), options(std::move(how)), budget(make_budget(options.limits.max_in_flight_total)),
      tools_(std::make_shared<const tool_table>()) {
    if (about.name.empty()) throw std::invalid_argument("keel: server name must not be empty");
    must_be_text("name", about.name);
    must_be_text("version", about.version);
    must_be_text("title", about.title);
    must_be_text("description", about.description);
    must_be_text("website_url", about.website_url);
    must_be_text("instructions", options.instructions);
    modern_tail_ = R"(,"_meta":{"io.modelcontextprotocol/serverInfo":)" + info_json(protocol::latest) + "}}";
}

std::string server_core::info_json(protocol::revision r) const {
    json::value v = json::object({{"name", about.name}, {"version", about.version}});
    if (protocol::has_titles(r) && !about.title.empty()) v.append("title", about.title);
    if (protocol::has_implementation_details(r)) {
        if (!about.description.empty()) v.append("description", about.description);
        if (!about.website_url.empty()) v.append("websiteUrl", about.website_url);
    }
    return json::to_string(v);
}

std::shared_ptr<const tool_table> server_core::tools() const {
    std::lock_guard lock(mutex_);
    return tools_;
}

void server_core::put(std::shared_ptr<const tool> t) {
    std::lock_guard lock(mutex_);
    auto all = tools_->all();
    auto same =
        std::find_if(all.begin(), all.end(), [&](const auto& each) { return each->about.name == t->about.name; });
    if (same != all.end()) *same = std::move(t);
    else all.push_back(std::move(t));
    tools_ = std::make_shared<const tool_table>(std::move(all));
    tools_version_.fetch_add(1, std::memory_order_release);
}

bool server_core::remove(std::string_view name) {
    std::lock_guard lock(mutex_);
    auto all = tools_->all();
    if (std::erase_if(all, [&](const auto& each) { return each->about.name == name; }) == 0) return false;
    tools_ = std::make_shared<const tool_table>(std::move(all));
    tools_version_.fetch_add(1, std::memory_order_release);
    return true;
}

std::shared_ptr<worker_pool> server_core::workers() {
    std::lock_guard lock(mutex_);
    if (!workers_) workers_ = std::make_shared<worker_pool>(options.worker_threads);
    return workers_;
}

std::shared_ptr<worker_pool> server_core::started_workers() const {
    std::lock_guard lock(mutex_);
    return workers_;
}

void server_core::log(log_level level, std::string_view text) const noexcept {
    if (options.log) {
        try {
            options.log(level, text);
        } catch (const std::exception&) {  // a log that fails has nobody to tell
        }
    } else if (fallback_log_ && level >= *fallback_log_) {
        std::string line = about.name + ": " + std::string(name_of(level)) + ": " + std::string(text);
        write_to_stderr(std::move(line));
    }
}

}  // namespace keel::server_side
