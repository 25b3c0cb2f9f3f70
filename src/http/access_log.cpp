#include <keel/access_log.hpp>

#include "logging/line_writer.hpp"

#include <utility>

namespace keel::inline KEEL_ABI {

void append_access_line(std::string& out, const access_entry& entry, log_format format) {
    logging::line_writer line(out, format, entry.time);
    line.add("address", entry.address);
    line.add("principal", entry.principal);
    line.add("http", entry.http_method);
    line.add("path", entry.path);
    line.add("status", entry.status);
    line.add("in", static_cast<std::int64_t>(entry.bytes_in));
    line.add("out", static_cast<std::int64_t>(entry.bytes_out));
    line.add("ms", entry.took);
    line.add("revision", entry.revision);
    line.add("method", entry.method);
    line.add("tool", entry.tool);
    line.end();
}

access_log access_log_to(std::shared_ptr<log_file> file, log_format format) {
    auto reported = std::make_shared<std::atomic<std::uint64_t>>(file->dropped());
    return [file = std::move(file), format, reported](const access_entry& entry) {
        std::string line;
        append_access_line(line, entry, format);
        if (!file->write_line(line)) return;
        const std::uint64_t dropped = file->dropped();
        const std::uint64_t before = reported->exchange(dropped);
        if (dropped <= before) return;
        line.clear();
        logging::line_writer note(line, format, entry.time);
        note.add("dropped", static_cast<std::int64_t>(dropped - before));
        note.end();
        file->write_line(line);
    };
}

}  // namespace keel
