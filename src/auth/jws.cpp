#include "auth/jws.hpp"

#include "protocol/base64.hpp"

namespace keel::inline KEEL_ABI::auth {

namespace {

using protocol::append_base64;
using protocol::append_base64_decoded;
using protocol::base64_form;

std::string text_member(const json::value& header, std::string_view name) {
    return std::string(header[name].if_string().value_or(""));
}

/// A member that is present must be a string.
bool is_text_or_missing(const json::value& header, std::string_view name) {
    const json::value* found = header.find(name);
    return !found || found->is_string();
}

}  // namespace

std::optional<compact_jws> parse_jws(std::string_view text, std::size_t max_size, std::string& problem) {
    const auto fail = [&](const char* why) -> std::optional<compact_jws> {
        problem = why;
        return std::nullopt;
    };
    if (text.size() > max_size) return fail("the token is too long");
    const std::size_t first = text.find('.');
    const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
    if (second == std::string_view::npos || text.find('.', second + 1) != std::string_view::npos)
        return fail("a token has three parts");
    compact_jws out;
    std::string header;
    if (!append_base64_decoded(header, text.substr(0, first), base64_form::url) ||
        !append_base64_decoded(out.payload, text.substr(first + 1, second - first - 1), base64_form::url) ||
        !append_base64_decoded(out.signature, text.substr(second + 1), base64_form::url))
        return fail("a part of the token is not base64url");
    if (out.signature.empty()) return fail("the token is not signed");
    json::document document;
    const json::value* read = document.read(header, {.max_depth = 16});
    if (!read || !read->is_object()) return fail("the header of the token is not an object");
    if (read->contains("crit") || read->contains("b64")) return fail("the token requires an unknown extension");
    if (!is_text_or_missing(*read, "kid") || !is_text_or_missing(*read, "typ"))
        return fail("the header of the token is invalid");
    const auto name = (*read)["alg"].if_string();
    const auto found = name ? find_algorithm(*name) : std::nullopt;
    if (!found) return fail("the signature algorithm is not supported");
    out.signed_with = *found;
    out.key_id = text_member(*read, "kid");
    out.type = text_member(*read, "typ");
    out.header = *read;  // a copy owns its contents
    out.signed_text = text.substr(0, second);
    return out;
}

jws_verdict verify_jws(const compact_jws& jws, const key_set& keys, const algorithm_set& allowed,
                       const public_key** signer) {
    if (!allowed.contains(jws.signed_with)) return jws_verdict::invalid;
    bool named = false;
    for (const public_key* key : keys.candidates(jws.signed_with, jws.key_id)) {
        if (key->verify(jws.signed_with, jws.signed_text, jws.signature)) {
            if (signer) *signer = key;
            return jws_verdict::valid;
        }
        named = named || (!jws.key_id.empty() && key->id() == jws.key_id);
    }
    // Without a name, a rotated key looks like an invalid signature.
    return named ? jws_verdict::invalid : jws_verdict::unknown_key;
}

std::string write_jws(json::value header, std::string_view payload, const signing_key& key, algorithm a) {
    header.set("alg", name_of(a));
    std::string text;
    if (!json::write(text, header)) throw std::invalid_argument("keel: a number in the header is not finite");
    std::string out;
    append_base64(out, text, base64_form::url);
    out += '.';
    append_base64(out, payload, base64_form::url);
    const std::string signature = key.sign(a, out);
    out += '.';
    append_base64(out, signature, base64_form::url);
    return out;
}

}  // namespace keel::auth
