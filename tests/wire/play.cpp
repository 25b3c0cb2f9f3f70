#include "wire/conversation.hpp"
#include "wire/server_for_wire.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>

namespace keel::conversations {

namespace {

/// One conversation under one version.
class player {
public:
    player(const conversation& c, const std::string& version) : c_(c), version_(version), server_(c.page_size) {
        known_["$version"] = json::value(version);
        known_["$meta"] = json::parse(
            R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})");
        known_["$server"] = json::parse(
            R"({"io.modelcontextprotocol/serverInfo":{"name":"under-test","version":"1.0","title":"Under test",)"
            R"("description":"A server that is being tested"}})");
    }

    std::string run() {
        for (const std::string& name : c_.offers) server_.offer(name);
        server_.start();
        for (const step& s : c_.steps) {
            const auto& only = s.versions;
            if (!only.empty() && std::find(only.begin(), only.end(), version_) == only.end()) continue;
            at_ = &s;
            take(s);
            if (!failed_.empty()) return failed_;
        }
        must_be_silent();
        return failed_;
    }

private:
    void take(const step& s) {
        switch (s.what) {
            case step::kind::client:
                must_be_silent();
                say(s.text);
                break;
            case step::kind::event:
                must_be_silent();
                if (s.text.starts_with("initialize")) initialize(s.text.substr(std::string("initialize").size()));
                else server_.happen(s.text);
                break;
            case step::kind::silence: must_be_silent(); break;
            case step::kind::server: must_say(s.text); break;
        }
    }

    /// Text that is not JSON is sent unchanged: some conversations contain garbage.
    void say(const std::string& text) {
        json::document doc;
        const json::value* v = doc.read(text);
        server_.later(v ? json::to_string(fill_in(*v, known_)) : text);
    }

    void initialize(std::string_view capabilities) {
        while (capabilities.starts_with(' ')) capabilities.remove_prefix(1);
        if (capabilities.empty()) capabilities = "{}";
        server_.send(test::server_under_test::initialize_line("\"opening\"", version_, capabilities));
        server_.send(test::notification_line("notifications/initialized"));
        hear();
        if (heard_.size() != 1 || heard_.front()["result"]["protocolVersion"] != json::value(version_)) {
            return fail("an answer to initialize with version " + version_);
        }
        heard_.pop_front();
    }

    void hear() {
        server_.settle();
        for (const std::string& line : server_.seen.take()) heard_.push_back(json::parse(line));
    }

    void must_be_silent() {
        hear();
        if (!heard_.empty()) fail("nothing");
    }

    void must_say(const std::string& text) {
        hear();
        if (heard_.empty()) return fail(text);
        auto why = difference(json::parse(text), heard_.front(), known_);
        if (!why.empty()) return fail(text, why);
        heard_.pop_front();
    }

    void fail(const std::string& expected, const std::string& why = "") {
        failed_ = c_.file.filename().string() + ":" + std::to_string(at_ ? at_->line : 0) + " (" + version_ + ")";
        if (!why.empty()) failed_ += "\n    " + why;
        failed_ += "\n    expected " + expected + "\n    got      ";
        failed_ += heard_.empty() ? "nothing" : json::to_string(heard_.front());
        for (std::size_t i = 1; i < heard_.size(); ++i) failed_ += "\n    and then " + json::to_string(heard_[i]);
    }

    const conversation& c_;
    const std::string version_;
    server_for_wire server_;
    names known_;
    std::deque<json::value> heard_;
    const step* at_ = nullptr;
    std::string failed_;
};

}  // namespace

std::string play(const conversation& c, const std::string& version) {
    player p(c, version);
    try {
        return p.run();
    } catch (const std::exception& e) {
        return c.file.filename().string() + " (" + version + "): " + e.what();
    }
}

}  // namespace keel::conversations
