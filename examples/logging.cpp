// self-test
// Log messages in the logger of the host program, with their tool; and an access log.

#include <keel/blocking_client.hpp>
#include <keel/http_server.hpp>

#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

// Stands for the logger that your program already has, such as spdlog.
class host_logger {
public:
    enum class severity { debug, info, warning, error };

    void write(severity how, const std::string& text) {
        std::lock_guard lock(mutex_);
        lines_.push_back((how == severity::error ? "E " : "I ") + text);
    }
    std::vector<std::string> lines() {
        std::lock_guard lock(mutex_);
        return lines_;
    }

private:
    std::mutex mutex_;
    std::vector<std::string> lines_;
};

keel::log_sink log_to_host(host_logger& logger) {
    return [&logger](const keel::log_record& r) {
        using enum host_logger::severity;
        auto how = r.level >= keel::log_level::error     ? error
                   : r.level >= keel::log_level::warning ? warning
                   : r.level >= keel::log_level::info    ? info
                                                         : debug;
        std::string text(r.message);
        if (!r.tool.empty()) text += " [tool " + std::string(r.tool) + "]";
        logger.write(how, text);
    };
}

void log_requests(keel::http_options& options) {
    options.access_log = keel::access_log_to(std::make_shared<keel::log_file>("/var/log/my-server/access.log"));
}

int main(int argc, char** argv) {
    host_logger logger;
    keel::server_options options;
    options.log = log_to_host(logger);
    keel::server server({.name = "logging", .version = "1.0.0"}, options);
    server.add_tool("fail", "Fails unexpectedly", []() -> std::string { throw std::runtime_error("disk on fire"); });

    keel::blocking_client client(server);
    client.connect();
    try {
        client.call_tool("fail");
    } catch (const keel::error& e) {
        std::printf("the client sees: %s\n", e.what());
    }
    std::vector<std::string> lines = logger.lines();
    for (const std::string& line : lines) std::printf("the logger has: %s\n", line.c_str());
    bool ok = lines == std::vector<std::string>{"E handler failed: disk on fire [tool fail]"};
    return argc > 1 && std::string(argv[1]) == "--self-test" && !ok ? 1 : 0;
}
