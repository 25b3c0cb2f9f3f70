#include "skills.hpp"

#include "front_matter.hpp"

#include <keel/base64.hpp>
#include <keel/describe.hpp>

#include <openssl/sha.h>

#include <array>
#include <utility>

namespace keel::conformance {

KEEL_DESCRIBE(skill_file, uri, digest, size)

namespace {

skill skill_of(const json::value& entry) {
    skill s;
    s.uri = entry["uri"].as_string();
    s.front_matter = entry["frontmatter"];
    if (entry["resources"] != json::value("dynamic")) {
        s.files = decode<std::vector<skill_file>>(entry["resources"], "resources");
    }
    return s;
}

std::string digest_of(std::string_view bytes) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
    SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), hash.data());
    std::string text = "sha256:";
    for (unsigned char byte : hash) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

const skill_file* promised(const skill& s, std::string_view uri) {
    for (const skill_file& f : *s.files) {
        if (f.uri == uri) return &f;
    }
    return nullptr;
}

void verify(const skill_file& promise, std::string_view bytes) {
    if (bytes.size() != promise.size) {
        throw skill_refused(promise.uri + " has " + std::to_string(bytes.size()) + " bytes, not " +
                            std::to_string(promise.size));
    }
    if (digest_of(bytes) != promise.digest) throw skill_refused(promise.uri + " does not match its digest in the list");
}

void verify_front_matter(const skill& s, std::string_view file) {
    json::value found;
    try {
        found = read_front_matter(file);
    } catch (const json::error& e) {
        throw skill_refused(s.uri + ": " + e.what());
    }
    for (const json::member& m : s.front_matter.members()) {
        if (found[m.key()] != m.content)
            throw skill_refused(s.uri + " differs from the list in " + std::string(m.key()));
    }
    if (found.size() != s.front_matter.size()) throw skill_refused(s.uri + " has front matter that is not in the list");
}

task<std::string> fetch(client& c, std::string uri) {
    std::vector<resource_contents> contents = co_await c.read_resource(uri);
    if (contents.size() != 1) throw skill_refused(uri + " is not a single file");
    if (contents.front().text) co_return *contents.front().text;
    std::optional<std::string> bytes = base64_decode(contents.front().blob.value_or("?"));
    if (!bytes) throw skill_refused(uri + " is neither text nor Base64");
    co_return *bytes;
}

}  // namespace

task<std::vector<skill>> list_skills(client& c) {
    if (!c.server().capabilities["extensions"].contains(skills_extension)) {
        throw std::runtime_error("the server does not support skills");
    }
    std::vector<skill> found;
    json::value params = json::object();
    for (;;) {
        json::value page = co_await c.request("skills/list", params);
        for (const json::value& entry : page["skills"].items()) found.push_back(skill_of(entry));
        if (!page["nextCursor"].is_string()) co_return found;
        if (page["nextCursor"] == params["cursor"]) throw std::runtime_error("the list of skills repeats a cursor");
        params.set("cursor", page["nextCursor"]);
    }
}

task<std::vector<std::string>> load_skill(client& c, const skill& s) {
    if (!s.files) throw skill_refused(s.uri + " cannot be verified: the list has no digests");
    const skill_file* main_file = promised(s, s.uri);
    if (!main_file) throw skill_refused(s.uri + " is missing in its own list of files");

    std::vector<std::string> loaded;
    std::string instructions = co_await fetch(c, s.uri);
    verify(*main_file, instructions);
    verify_front_matter(s, instructions);
    loaded.push_back(std::move(instructions));
    for (const skill_file& f : *s.files) {
        if (f.uri == s.uri) continue;
        std::string bytes = co_await fetch(c, f.uri);
        verify(f, bytes);
        loaded.push_back(std::move(bytes));
    }
    co_return loaded;
}

}  // namespace keel::conformance
