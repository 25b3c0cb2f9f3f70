#include "argument_editor.hpp"

#include "exit_status.hpp"
#include "json_text.hpp"
#include "printable.hpp"
#include "schema_properties.hpp"
#include "schema_text.hpp"
#include "schema_types.hpp"

#include <keel/config.hpp>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace keel::command {

namespace {

json::value placeholder(const json::value& given, const json::value& root) {
    const json::value& schema = resolved_schema(given, root);
    for (const json::value* each : {&given, &schema}) {
        if (const json::value* preset = each->find("default")) return *preset;
    }
    if (const json::value* constant = schema.find("const")) return *constant;
    if (!schema["enum"].empty()) return schema["enum"].at(0);
    type_set types = types_of(schema, root);
    if (types.unknown() || types.has(type_set::string)) return json::value("");
    if (types.has(type_set::integer) || types.has(type_set::number))
        return schema["minimum"].is_number() ? schema["minimum"] : json::value(0);
    if (types.has(type_set::boolean)) return json::value(false);
    if (types.has(type_set::array)) return json::array();
    return types.has(type_set::object) ? json::object() : json::value();
}

std::string indented(std::string text, const std::string& by) {
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + by.size() + 1))
        text.insert(at + 1, by);
    return by + text;
}

/// A new file with this text, removed at the end unless it is kept.
class temporary_file {
public:
    explicit temporary_file(const std::string& text) {
        const char* folder = std::getenv("TMPDIR");
        path_ = std::string(folder && *folder ? folder : "/tmp") + "/keel-XXXXXX.jsonc";
        int fd = ::mkstemps(path_.data(), 6);
        if (fd < 0) throw std::system_error(errno, std::generic_category(), "cannot create " + path_);
        ::close(fd);
        std::ofstream(path_, std::ios::binary) << text;
    }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file() {
        if (!kept_) ::unlink(path_.c_str());
    }
    const std::string& path() const noexcept { return path_; }
    std::string text() const {
        std::ifstream in(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void keep() noexcept { kept_ = true; }

private:
    std::string path_;
    bool kept_ = false;
};

std::string editor_command() {
    for (const char* name : {"VISUAL", "EDITOR"}) {
        const char* value = std::getenv(name);
        if (value && *value) return value;
    }
    return "vi";
}

/// Runs the editor in the foreground. As in git, the command may contain arguments, so a shell splits it.
int run_editor(const std::string& command, const std::string& path) {
    std::string script = command + " \"$1\"";
    std::string file = path;
    char shell[] = "sh";
    char flag[] = "-c";
    char zero[] = "keel";
    char* words[] = {shell, flag, script.data(), zero, file.data(), nullptr};
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);  // keel blocks the signals that it reads itself
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    pid_t pid = 0;
    int problem = ::posix_spawnp(&pid, shell, nullptr, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    if (problem != 0) throw std::system_error(problem, std::generic_category(), "cannot start " + command);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

}  // namespace

std::string argument_template(const std::string& tool, const json::value& given, const json::value& schema) {
    std::string text = "// Arguments of " + printable_line(tool) + ". Save and exit to call it.\n{\n";
    for (const json::member& each : given.members()) {
        if (find_property(schema, each.key())) continue;
        text += indented(json::to_string(each.name) + ": " + json_text(each.content, false), "  ") + ",\n";
    }
    for (const std::string& name : property_names(schema)) {
        const json::value& property = *find_property(schema, name);
        bool required = is_required(schema, name);
        const json::value* value = given.find(name);
        auto about = resolved_schema(property, schema)["description"].if_string();
        text += "  // " + printable_line(schema_phrase(property, schema)) + (required ? ", required" : "") + "\n";
        if (about && !about->empty()) text += "  // " + printable_line(*about) + "\n";
        json::value shown = value ? *value : placeholder(property, schema);
        std::string line = indented(json::to_string(json::value(name)) + ": " + json_text(shown, false), "  ") + ",\n";
        // An optional argument is a comment, so that its default applies.
        if (!value && !required)
            line = "  // " + json::to_string(json::value(name)) + ": " + json::to_string(shown) + ",\n";
        text += line;
    }
    return text + "}\n";
}

json::value edit_arguments(const std::string& tool, const json::value& given, const json::value& schema) {
    temporary_file file(argument_template(tool, given, schema));
    std::string editor = editor_command();
    if (run_editor(editor, file.path()) != 0)
        throw usage_error("the editor failed: " + editor + "; the tool was not called");
    std::string why;
    try {
        json::value edited = parse_jsonc(file.text(), file.path());
        if (edited.is_object()) return edited;
        why = file.path() + ": expected object, found " + std::string(json::name_of(edited.type()));
    } catch (const config_error& e) {
        why = e.what();
    }
    file.keep();
    throw usage_error(why + "; the tool was not called, and your text is still in this file");
}

}  // namespace keel::command
