// Load generator for MCP servers on Streamable HTTP. One thread keeps one `echo` call pending on each of its
// connections, checks every response, and prints the resources used by the server process as one line of JSON.
//
// It must be cheaper than any server: one read and one write per call, prebuilt requests in which only digits change,
// and responses that are scanned only for the relevant bytes.

#include "http_answer.hpp"
#include "http_connection.hpp"
#include "http_requests.hpp"
#include "load_program.hpp"
#include "process_usage.hpp"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using bench::bind_to;
using bench::clock_type;
using bench::own_cpu_seconds;
using bench::seconds_since;

struct options {
    std::string url;
    std::int64_t requests = 100'000;
    std::int64_t warm_up = 10'000;
    std::int64_t connections = 32;
    std::int64_t sessions = 1;
    std::int64_t listens = 0;
    unsigned hold_seconds = 0;
    unsigned deadline_seconds = 600;
    int own_cpu = -1;  // -1: not pinned
    pid_t server = 0;
    bench::revision speaks = bench::revision::modern;
    bool raw = false;
};

constexpr std::string_view usage_text = R"(usage: http_load --url http://HOST:PORT/PATH [options]
  --wire modern|legacy     2026-07-28 without sessions, or 2025-11-25 with them
  --wire raw|raw-legacy    the same requests for a server with constant responses
  --server PID             the process to measure (0: none)
  --connections N          connections, each with one pending call        (32)
  --sessions N             sessions that the connections share            (1)
  --requests N             number of measured calls                       (100000)
  --warm-up N              calls before the measurement                   (10000)
  --listens N              then open N subscriptions/listen streams and measure their memory
  --hold SECONDS           keep these streams idle before their memory is measured               (0)
  --own-cpu N              bind the load to a processor
  --deadline SECONDS       timeout                                        (600)
)";

// ---- the calls ----------------------------------------------------------------------------------------------------

class poller {
public:
    poller() : fd_(epoll_create1(EPOLL_CLOEXEC)) {
        if (fd_ < 0) bench::fail_errno("epoll_create1");
    }
    poller(const poller&) = delete;
    poller& operator=(const poller&) = delete;
    ~poller() { ::close(fd_); }

    void add(int fd, void* tag) const {
        epoll_event wanted{};
        wanted.events = EPOLLIN;
        wanted.data.ptr = tag;
        if (epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &wanted) != 0) bench::fail_errno("epoll_ctl");
    }

    void remove(int fd) const { epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr); }

    template <class F>
    void wait(F&& each) {
        const int count = epoll_wait(fd_, ready_.data(), static_cast<int>(ready_.size()), -1);
        if (count < 0) bench::fail_errno("epoll_wait");
        for (int i = 0; i < count; ++i) each(ready_[static_cast<std::size_t>(i)].data.ptr);
    }

private:
    int fd_;
    std::array<epoll_event, 128> ready_{};
};

class load {
public:
    load(const bench::server_address& server, const options& wanted) : wanted_(wanted) {
        std::vector<std::string> sessions;
        for (std::int64_t i = 0; i < wanted.connections; ++i) {
            auto& from = callers_.emplace_back(std::make_unique<caller>(server));
            std::string session = "0123456789abcdef0123456789abcdef";  // sent to a raw server
            if (!wanted.raw && wanted.speaks == bench::revision::legacy) {
                if (std::cmp_less(sessions.size(), wanted.sessions)) {
                    sessions.push_back(bench::open_session(from->over, server.to));
                }
                session = sessions[static_cast<std::size_t>(i) % sessions.size()];
            }
            from->request.emplace(server.to, wanted.speaks, session);
            poller_.add(from->over.fd(), from.get());
        }
    }

    /// Makes that many calls. All are answered when this returns.
    void run(std::int64_t calls) {
        const auto end = next_id_ + calls;
        for (auto& from : callers_) start_next(*from, end);
        for (std::int64_t done = 0; done < calls;) {
            poller_.wait([&](void* tag) {
                auto& from = *static_cast<caller*>(tag);
                const auto got = from.over.receive(MSG_DONTWAIT);
                if (!got || !got->whole) return;
                check(from, *got);
                ++done;
                start_next(from, end);
            });
        }
        for (auto& from : callers_) {
            if (from->over.has_surplus()) bench::fail("unexpected bytes after a response");
        }
    }

    std::size_t request_bytes = 0;
    std::size_t answer_bytes = 0;
    std::size_t answer_body_bytes = 0;

private:
    struct caller {
        explicit caller(const bench::server_address& server) : over(server) {}
        bench::connection over;
        std::optional<bench::call_template> request;
        std::int64_t waiting = 0;  // the id of the pending call; 0: none
    };

    void start_next(caller& from, std::int64_t end) {
        if (next_id_ == end) return;
        from.waiting = next_id_++;
        const auto bytes = from.request->with_id(from.waiting);
        request_bytes = bytes.size();
        from.over.send(bytes);
    }

    void check(caller& from, const bench::answer& got) {
        if (got.status != 200) bench::fail("status is not 200", std::string(got.head) + std::string(got.body));
        if (from.waiting == 0) bench::fail("unexpected response", got.body);
        if (!wanted_.raw) check_body(from.waiting, got.body);
        from.over.finish(got);
        from.waiting = 0;
        answer_bytes = got.size;
        answer_body_bytes = got.body.size();
    }

    /// Sufficient as a parser, because our texts contain no quotes and the servers send no spaces.
    static void check_body(std::int64_t id, std::string_view body) {
        constexpr std::string_view id_key = "\"id\":";
        const auto at = bench::find(body, id_key);
        if (at == std::string_view::npos) bench::fail("an answer without id", body);
        std::array<char, bench::id_width> digits{};
        bench::put_digits(digits.data(), id);
        const auto after_id = body.substr(at + id_key.size());
        if (!after_id.starts_with(std::string_view(digits.data(), digits.size())) || after_id.size() <= digits.size() ||
            (after_id[digits.size()] != ',' && after_id[digits.size()] != '}')) {
            bench::fail("the id of another call", body);
        }
        if (bench::find(after_id, id_key) != std::string_view::npos) bench::fail("a second answer in the body", body);

        std::array<char, bench::text_prefix.size() + bench::id_width + 2> text{};
        text.front() = text.back() = '"';
        std::copy(bench::text_prefix.begin(), bench::text_prefix.end(), text.data() + 1);
        std::copy(digits.begin(), digits.end(), text.data() + 1 + bench::text_prefix.size());
        if (bench::find(body, {text.data(), text.size()}) == std::string_view::npos)
            bench::fail("the text is missing", body);
        if (bench::find(body, "\"result\":") == std::string_view::npos ||
            bench::find(body, "\"isError\":true") != std::string_view::npos) {
            bench::fail("not a successful result", body);
        }
    }

    const options& wanted_;
    std::vector<std::unique_ptr<caller>> callers_;
    poller poller_;
    std::int64_t next_id_ = bench::first_id;
};

/// Opens the streams, each on its own connection. Returns when all are acknowledged.
std::vector<std::unique_ptr<bench::connection>> open_listens(const bench::server_address& server, std::int64_t count) {
    constexpr std::int64_t at_once = 64;  // less than the backlog of any server
    std::vector<std::unique_ptr<bench::connection>> streams;
    poller waiting;
    std::int64_t acknowledged = 0;
    while (acknowledged < count) {
        while (std::cmp_less(streams.size(), std::min(count, acknowledged + at_once))) {
            auto& stream = streams.emplace_back(std::make_unique<bench::connection>(server));
            stream->send(bench::listen_request(server.to, std::ssize(streams)));
            waiting.add(stream->fd(), stream.get());
        }
        waiting.wait([&](void* tag) {
            auto& stream = *static_cast<bench::connection*>(tag);
            const auto got = stream.receive(MSG_DONTWAIT);
            if (!got) return;
            if (got->status != 200 || got->whole) bench::fail("a listen stream was refused", got->body);
            if (!bench::header_of(got->head, "content-type").starts_with("text/event-stream")) {
                bench::fail("a listen stream without text/event-stream", got->head);
            }
            if (bench::find(got->body, "notifications/subscriptions/acknowledged") == std::string_view::npos) return;
            waiting.remove(stream.fd());
            ++acknowledged;
        });
    }
    return streams;
}

// ---- the report ---------------------------------------------------------------------------------------------------

void allow_descriptors(std::int64_t count) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const auto needed = static_cast<rlim_t>(count + 64);
    if (limit.rlim_cur >= needed) return;
    limit.rlim_cur = needed;
    limit.rlim_max = std::max(limit.rlim_max, needed);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) bench::fail("cannot raise the limit of open files (RLIMIT_NOFILE)");
}

void measure(const options& wanted) {
    bind_to(wanted.own_cpu);
    allow_descriptors(wanted.connections + wanted.listens);
    const bench::server_address server(wanted.url);
    load calls(server, wanted);
    if (wanted.warm_up > 0) calls.run(wanted.warm_up);

    const auto own_before = own_cpu_seconds();
    const auto before = wanted.server > 0 ? bench::usage_of(wanted.server) : bench::process_usage{};
    const auto start = clock_type::now();
    calls.run(wanted.requests);
    const auto wall = seconds_since(start);
    const auto after = wanted.server > 0 ? bench::usage_of(wanted.server) : bench::process_usage{};
    const auto own = own_cpu_seconds() - own_before;
    const auto memory = wanted.server > 0 ? bench::memory_of(wanted.server) : bench::process_memory{};

    const auto count = static_cast<double>(wanted.requests);
    const auto cpu = static_cast<double>(after.cpu_ns - before.cpu_ns) / 1e9;
    std::printf(R"({"requests":%lld,"connections":%lld,"wall_s":%.6f,"requests_per_s":%.0f,"cpu_s":%.6f,)"
                R"("cpu_us_per_request":%.4f,"user_s":%.2f,"system_s":%.2f,"sleeps_per_request":%.4f,"busy":%.3f,)"
                R"("own_cpu_us_per_request":%.4f,"own_busy":%.3f,"request_bytes":%zu,"answer_bytes":%zu,)"
                R"("answer_body_bytes":%zu,"rss_kb":%lld,"peak_rss_kb":%lld)",
                static_cast<long long>(wanted.requests), static_cast<long long>(wanted.connections), wall, count / wall,
                cpu, cpu * 1e6 / count, after.user_seconds - before.user_seconds,
                after.system_seconds - before.system_seconds, static_cast<double>(after.sleeps - before.sleeps) / count,
                cpu / wall, own * 1e6 / count, own / wall, calls.request_bytes, calls.answer_bytes,
                calls.answer_body_bytes, static_cast<long long>(memory.resident_kb),
                static_cast<long long>(memory.peak_kb));
    if (wanted.listens > 0) {
        const auto opening = clock_type::now();
        const auto streams = open_listens(server, wanted.listens);
        const auto seconds = seconds_since(opening);
        const auto open = bench::memory_of(wanted.server);
        calls.run(wanted.connections);  // the other streams are still served
        if (wanted.hold_seconds > 0 && ::sleep(wanted.hold_seconds) != 0) bench::fail("timeout");
        const auto held = bench::memory_of(wanted.server);
        for (const auto& stream : streams) {
            if (stream->is_closed()) bench::fail("a listen stream was closed");
        }
        const auto grown = std::max(open.resident_kb, held.resident_kb) - memory.resident_kb;
        std::printf(R"(,"listens":%lld,"listens_rss_kb":%lld,"held_rss_kb":%lld,"kb_per_listen":%.3f,)"
                    R"("listens_per_s":%.0f)",
                    static_cast<long long>(wanted.listens), static_cast<long long>(open.resident_kb),
                    static_cast<long long>(held.resident_kb),
                    static_cast<double>(grown) / static_cast<double>(wanted.listens),
                    static_cast<double>(wanted.listens) / seconds);
    }
    std::printf("}\n");
}

void set_wire(options& out, const std::string& value) {
    if (value != "modern" && value != "legacy" && value != "raw" && value != "raw-legacy") {
        throw std::invalid_argument("unknown wire: " + value);
    }
    out.raw = value.starts_with("raw");
    out.speaks = value.ends_with("legacy") ? bench::revision::legacy : bench::revision::modern;
}

options parse(int argc, char** argv) {
    options out;
    for (int at = 1; at < argc; at += 2) {
        const std::string_view name = argv[at];
        if (at + 1 >= argc) throw std::invalid_argument("missing value of " + std::string(name));
        const std::string value = argv[at + 1];
        if (name == "--url") {
            out.url = value;
        } else if (name == "--wire") {
            set_wire(out, value);
        } else if (name == "--server") {
            out.server = std::stoi(value);
        } else if (name == "--connections") {
            out.connections = std::stoll(value);
        } else if (name == "--sessions") {
            out.sessions = std::stoll(value);
        } else if (name == "--requests") {
            out.requests = std::stoll(value);
        } else if (name == "--warm-up") {
            out.warm_up = std::stoll(value);
        } else if (name == "--listens") {
            out.listens = std::stoll(value);
        } else if (name == "--hold") {
            out.hold_seconds = static_cast<unsigned>(std::stoul(value));
        } else if (name == "--own-cpu") {
            out.own_cpu = std::stoi(value);
        } else if (name == "--deadline") {
            out.deadline_seconds = static_cast<unsigned>(std::stoul(value));
        } else {
            throw std::invalid_argument("unknown option " + std::string(name));
        }
    }
    if (out.url.empty()) throw std::invalid_argument("missing --url");
    if (out.requests < 1 || out.connections < 1 || out.sessions < 1 || out.requests + out.warm_up > 800'000'000) {
        throw std::invalid_argument(
            "requests, connections and sessions must be at least 1, and all calls at most 800 million");
    }
    if (out.listens > 0 && (out.server <= 0 || out.raw)) {
        throw std::invalid_argument("--listens requires --server and a server that is not raw");
    }
    return out;
}

}  // namespace

int main(int argc, char** argv) { return bench::run_program("http_load", usage_text, parse, measure, argc, argv); }
