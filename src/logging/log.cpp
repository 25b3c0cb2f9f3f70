#include <keel/log.hpp>

#include "logging/line_writer.hpp"

namespace keel::inline KEEL_ABI {

void append_log_line(std::string& out, const log_record& record, log_format format, std::string_view name) {
    logging::line_writer line(out, format, record.time);
    if (format == log_format::json) {
        line.add("level", name_of(record.level));
        line.add("server", name);
        line.add("message", record.message, logging::max_message);
    } else {
        line.add_words(name_of(record.level));
        if (!name.empty()) {
            line.add_words(name);
            out += ':';
        }
        line.add_words(record.message, logging::max_message);
    }
    line.add("request", record.request_id);
    line.add("method", record.method);
    line.add("tool", record.tool);
    if (record.took) line.add("ms", *record.took);
    line.add("principal", record.principal);
    line.add("address", record.address);
    if (format == log_format::json) {  // in a text line the message says it
        if (record.status != 0) line.add("status", record.status);
        line.add("reason", record.reason);
    }
    line.end();
}

log_sink log_to(std::shared_ptr<log_file> file, log_options how) {
    const log_level least = how.least;
    auto reported = std::make_shared<std::atomic<std::uint64_t>>(file->dropped());
    return {[file = std::move(file), how = std::move(how), reported](const log_record& record) {
                std::string line;
                append_log_line(line, record, how.format, how.name);
                if (!file->write_line(line)) return;
                const std::uint64_t dropped = file->dropped();
                const std::uint64_t before = reported->exchange(dropped);
                if (dropped <= before) return;
                const std::string text =
                    std::to_string(dropped - before) + " lines of this log were dropped before this line";
                line.clear();
                append_log_line(line, {.level = log_level::warning, .time = record.time, .message = text}, how.format,
                                how.name);
                file->write_line(line);
            },
            least};
}

log_sink log_to(int descriptor, log_options how) {
    return log_to(std::make_shared<log_file>(descriptor), std::move(how));
}

log_sink log_to(std::string path, log_options how) {
    return log_to(std::make_shared<log_file>(std::move(path)), std::move(how));
}

}  // namespace keel
