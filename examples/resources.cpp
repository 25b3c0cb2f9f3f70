// Resources: one with a fixed URI, a URI template with a list and completion, binary data, and a change that subscribers are
// notified of.

#include <keel/main.hpp>

#include <map>
#include <mutex>
#include <string>

// The data of the server: notes by name. Thread-safe, because handlers run on several threads.
class notebook {
public:
    void write(const std::string& name, std::string text) {
        std::lock_guard lock(mutex_);
        notes_[name] = std::move(text);
    }
    std::optional<std::string> find(const std::string& name) const {
        std::lock_guard lock(mutex_);
        auto at = notes_.find(name);
        return at == notes_.end() ? std::nullopt : std::optional(at->second);
    }
    /// At most `count` names that sort after `name`.
    std::vector<std::string> names_after(const std::string& name, std::size_t count) const {
        std::lock_guard lock(mutex_);
        std::vector<std::string> names;
        for (auto at = notes_.upper_bound(name); at != notes_.end() && names.size() < count; ++at) {
            names.push_back(at->first);
        }
        return names;
    }

private:
    mutable std::mutex mutex_;
    std::map<std::string, std::string> notes_;
};

struct note_variables {
    std::string name;
};
KEEL_DESCRIBE(note_variables, name)

struct write_args {
    std::string name;
    std::string text;
};
KEEL_DESCRIBE(write_args, name, text)

int main(int argc, char** argv) {
    notebook notes;
    notes.write("milk", "Buy milk");
    notes.write("tea", "Earl Grey, hot");

    keel::server server({.name = "notes", .version = "1.0.0"});

    keel::resource about;
    about.uri = "note-info://about";
    about.name = "about";
    about.mime_type = "text/markdown";
    server.add_resource(about, [] { return "# Notes\nOne resource per note."; });

    keel::resource logo;
    logo.uri = "note-info://logo";
    logo.name = "logo";
    logo.mime_type = "image/gif";
    server.add_resource(logo, [] { return keel::bytes{"GIF89a"}; },
                        {.cache = keel::cache_hint{std::chrono::hours(1), true}});

    keel::resource_template each;
    each.uri_template = "note://{name}";
    each.name = "note";
    each.mime_type = "text/plain";
    keel::template_options options;
    options.list = [&notes](keel::context&, const std::string& cursor) {
        keel::resource_page page;
        for (const std::string& name : notes.names_after(cursor, 100)) {
            keel::resource note;
            note.uri = "note://" + name;
            note.name = name;
            page.resources.push_back(note);
            page.next = name;
        }
        return page;
    };
    options.complete["name"] = [&notes](keel::context&, const keel::completion_request& request) {
        keel::completion found;
        for (const std::string& name : notes.names_after("", 1000)) {
            if (name.starts_with(request.value)) found.values.push_back(name);
        }
        return found;
    };
    server.add_resource_template(
        each,
        [&notes](note_variables in) {
            auto text = notes.find(in.name);
            if (!text) throw keel::resource_not_found("note://" + in.name);
            return *text;
        },
        options);

    server.add_tool("write", "Writes a note", [&](write_args in) {
        bool known = notes.find(in.name).has_value();
        notes.write(in.name, in.text);
        server.resource_updated("note://" + in.name);
        if (!known) server.resources_changed();
        return known ? "changed" : "written";
    });
    return keel::main(server, argc, argv);
}
