#pragma once

// A server with resources, prompts and tools, and a client of any revision that sends one request at a time.

#include "support/harness.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::test {

inline constexpr std::array<std::string_view, 5> all_versions = protocol::revision_names;
inline bool is_modern(std::string_view version) { return version == "2026-07-28"; }

class feature_server : public server_under_test {
public:
    using server_under_test::server_under_test;

    template <class F>
    void add_resource(keel::resource about, F f, resource_options options = {}) {
        bool quick = options.quick;
        bool replace = options.replace;
        core->resources.put(std::make_shared<const server_side::resource_offer>(detail::resource_entry{
                                std::move(about), detail::make_resource_handler(std::move(f), quick), options}),
                            replace);
    }
    /// With only a URI and a name.
    template <class F>
    void add_resource(std::string uri, F f, resource_options options = {}) {
        keel::resource about;
        about.name = uri;
        about.uri = std::move(uri);
        add_resource(std::move(about), std::move(f), options);
    }
    template <class F>
    void add_template(keel::resource_template about, F f, template_options options = {}) {
        bool quick = options.quick;
        bool replace = options.replace;
        core->templates.put(
            std::make_shared<const server_side::template_offer>(detail::template_entry{
                std::move(about), detail::make_resource_handler(std::move(f), quick), std::move(options)}),
            replace);
    }
    template <class F>
    void add_template(std::string text, F f, template_options options = {}) {
        keel::resource_template about;
        about.name = text;
        about.uri_template = std::move(text);
        add_template(std::move(about), std::move(f), std::move(options));
    }
    template <class F>
    void add_prompt(keel::prompt about, F f, prompt_options options = {}) {
        bool replace = options.replace;
        core->prompts.put(std::make_shared<const server_side::prompt_offer>(
                              detail::make_prompt(std::move(about), std::move(f), std::move(options))),
                          replace);
    }
    template <class F>
    void add_prompt(std::string name, F f, prompt_options options = {}) {
        keel::prompt about;
        about.name = std::move(name);
        add_prompt(std::move(about), std::move(f), std::move(options));
    }

    /// Opens the connection like a client of this version.
    void speak(std::string_view version) {
        version_ = version;
        if (is_modern(version)) start();
        else start(version);
    }
    /// Sends a request and waits for its answer. `members` are the members of its params, as JSON.
    json::value ask(std::string_view method, std::string_view members = "") {
        std::string id = std::to_string(++last_id_);
        if (is_modern(version_)) send(modern_line(id, method, members));
        else send(request_line(id, method, "{" + std::string(members) + "}"));
        until([&] { return answers_to(id) > 0; });
        return seen.answer_message(id);
    }
    json::value read(std::string_view uri) {
        return ask("resources/read", R"("uri":)" + json::to_string(json::value(uri)));
    }
    /// The outcome of a request: "-32602 uri: expected string", or "" for a result.
    static std::string error_of(const json::value& message) {
        const json::value* e = message.find("error");
        return e ? std::to_string((*e)["code"].as_int()) + " " + std::string((*e)["message"].as_string()) : "";
    }

    /// Reads a list page by page and calls a function after each page.
    struct listed {
        std::vector<std::string> names;  // or URIs
        std::vector<std::size_t> page_sizes;
        std::vector<std::string> cursors;
    };
    template <class Between>
    listed list_all(std::string_view method, std::string_view key, std::string_view member, Between between) {
        listed all;
        std::string cursor;
        for (;;) {
            json::value answer = ask(method, cursor);
            const json::value& result = answer["result"];
            REQUIRE_MESSAGE(result[key].is_array(), json::to_string(answer));
            for (const json::value& each : result[key].items()) all.names.emplace_back(each[member].as_string());
            all.page_sizes.push_back(result[key].size());
            const json::value* next = result.find("nextCursor");
            if (!next) return all;
            all.cursors.emplace_back(next->as_string());
            REQUIRE(all.cursors.size() < 10000);
            cursor = R"("cursor":")" + all.cursors.back() + '"';
            between();
        }
    }
    listed list_all(std::string_view method, std::string_view key, std::string_view member) {
        return list_all(method, key, member, [] {});
    }

private:
    std::string version_;
    int last_id_ = 0;
};

inline server_settings with_options(std::function<void(server_options&)> adjust) {
    server_settings how;
    how.adjust = std::move(adjust);
    return how;
}
inline server_settings with_page_size(std::size_t n) {
    return with_options([n](server_options& o) { o.page_size = n; });
}

/// The error of a registration; "" if it succeeds.
template <class F>
std::string refusal_of(F add) {
    try {
        add();
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "";
}

}  // namespace keel::test
