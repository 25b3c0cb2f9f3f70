#include "config_search.hpp"

#include "config_input_prompt.hpp"
#include "exit_status.hpp"

#include <filesystem>
#include <system_error>

namespace keel::command {

namespace {

config_options reading(const options& o, const std::string& workspace) {
    config_options how;
    how.workspace = workspace;
    how.input = [given = o.inputs, ask = !o.no_input](const config_input& in) -> std::optional<std::string> {
        for (const auto& [id, value] : given) {
            if (id == in.id) return value;
        }
        auto answer = ask ? ask_for_input(in) : in.preset;
        if (!answer)
            throw config_error("missing value of input " + in.id + "; give it with --input " + in.id + "=VALUE");
        return answer;
    };
    return how;
}

}  // namespace

std::vector<std::string> found_servers::names() const {
    std::vector<std::string> all;
    for (const configured_server& each : servers.servers()) all.push_back(each.name);
    return all;
}

std::string found_servers::files_text() const {
    std::string text = "searched these files:";
    for (const searched_file& each : files) {
        std::size_t here = 0;
        for (const configured_server& s : servers.servers()) here += s.file == each.path;
        text += "\n  " + each.path + ": ";
        if (!each.exists) text += "not found";
        else if (!each.problem.empty()) text += "invalid: " + each.problem;
        else text += std::to_string(here) + (here == 1 ? " server" : " servers");
    }
    return text;
}

found_servers search_config(const options& o) {
    found_servers all;
    if (!o.config_file.empty()) {
        try {
            all.servers = load_config(o.config_file, reading(o, ""));
        } catch (const config_error& e) {
            throw usage_error("--config: " + std::string(e.what()));
        }
        all.files.push_back({o.config_file, "", true});
        return all;
    }
    std::string workspace = find_workspace();
    for (const config_place& each : usual_config_files(workspace)) {
        std::error_code unknown;
        found_servers::searched_file file{each.path, each.host, std::filesystem::exists(each.path, unknown)};
        if (file.exists) {
            try {
                all.servers.add(load_config(each.path, reading(o, workspace)));
            } catch (const config_error& e) {
                file.problem = e.what();
            }
        }
        all.files.push_back(std::move(file));
    }
    return all;
}

}  // namespace keel::command
