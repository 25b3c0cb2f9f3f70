#include "program/log_setup.hpp"

namespace keel::inline KEEL_ABI::program {

void set_up_logs(const log_settings& how, const std::string& name, foreground_options& serving, http_options& http) {
    auto open = [&](const std::string& path, int descriptor, const char* what) {
        if (path.empty() || path == "-") return std::make_shared<log_file>(descriptor);
        auto file = std::make_shared<log_file>(path);
        serving.on_reload.push_back({what, [file] { file->reopen(); }});
        return file;
    };
    serving.log = log_to(open(how.file, 2, "log file"), {.format = how.format, .least = serving.level, .name = name});
    if (!how.access_file.empty()) http.access_log = access_log_to(open(how.access_file, 1, "access log"), how.format);
}

}  // namespace keel::program
