#include "server/sealed_state.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>

namespace keel::inline KEEL_ABI::server_side {

namespace {

class sha256 {
public:
    sha256() : context_(EVP_MD_CTX_new()) {
        require(context_ ? 1 : 0);
        require(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
    }

    void add(std::string_view text) { require(EVP_DigestUpdate(context_.get(), text.data(), text.size())); }

    std::string hex() {
        constexpr std::string_view digits = "0123456789abcdef";
        unsigned char bytes[EVP_MAX_MD_SIZE];
        unsigned size = 0;
        require(EVP_DigestFinal_ex(context_.get(), bytes, &size));
        std::string out;
        for (unsigned i = 0; i < size; ++i) {
            out += digits[bytes[i] >> 4];
            out += digits[bytes[i] & 15];
        }
        return out;
    }

private:
    static void require(int done) {
        if (done != 1) throw std::runtime_error("keel: OpenSSL: SHA-256 failed");
    }
    struct free_context {
        void operator()(EVP_MD_CTX* c) const noexcept { EVP_MD_CTX_free(c); }
    };
    std::unique_ptr<EVP_MD_CTX, free_context> context_;
};

/// Writes values in a canonical form: equal values, and only these, produce the same bytes. Each value starts with a letter for
/// its kind; lengths precede everything of variable size. Uses its own stack because messages may be deeply nested.
class canonical_writer {
public:
    explicit canonical_writer(sha256& to) : to_(to) {}

    void write_parameters(const json::value& params) {
        if (params.is_null()) {
            open(no_members_);
        } else {
            write_one(params);
        }
        while (!open_.empty()) {
            frame& top = open_.back();
            if (top.next == top.members.size() + top.items.size()) {
                open_.pop_back();
            } else if (top.members.empty()) {
                write_one(top.items[top.next++]);
            } else {
                const json::member& m = *top.members[top.next++];
                write_text(m.key());
                write_one(m.content);
            }
        }
    }

private:
    struct frame {
        std::vector<const json::member*> members;  // of an object, sorted by key
        std::span<const json::value> items;        // of an array
        std::size_t next = 0;
    };

    void write_one(const json::value& v) {
        switch (v.type()) {
            case json::kind::null: to_.add("n"); break;
            case json::kind::boolean: to_.add(v.as_bool() ? "t" : "f"); break;
            case json::kind::integer:
            case json::kind::unsigned_integer:
            case json::kind::real: write_number(v); break;
            case json::kind::string: write_text(*v.if_string()); break;
            case json::kind::array:
                write_size('[', v.size());
                open_.push_back({{}, v.items(), 0});
                break;
            case json::kind::object: open(v); break;
        }
    }

    void open(const json::value& object) {
        const bool outermost = open_.empty();
        frame f;
        for (const json::member& m : object.members()) {
            const bool changes = m.key() == "_meta" || m.key() == "inputResponses" || m.key() == "requestState";
            if (!outermost || !changes) f.members.push_back(&m);
        }
        std::ranges::sort(f.members, {}, [](const json::member* m) { return m->key(); });
        write_size('{', f.members.size());
        open_.push_back(std::move(f));
    }

    void write_size(char kind, std::size_t size) {
        buffer_ = kind;
        json::write_uint(buffer_, size);
        buffer_ += ':';
        to_.add(buffer_);
    }

    void write_text(std::string_view text) {
        write_size('s', text.size());
        to_.add(text);
    }

    /// 1, 1.0 and 1e0 are the same integer. Numbers beyond 64 bits are doubles.
    void write_number(const json::value& v) {
        buffer_ = 'd';
        if (const auto n = v.if_int()) {
            json::write_int(buffer_, *n);
        } else if (const auto u = v.if_uint()) {
            json::write_uint(buffer_, *u);
        } else {
            const double d = *v.if_double();
            if (d == std::trunc(d) && d >= -0x1p63 && d < 0x1p63) {
                json::write_int(buffer_, static_cast<std::int64_t>(d));
            } else if (d == std::trunc(d) && d > 0 && d < 0x1p64) {
                json::write_uint(buffer_, static_cast<std::uint64_t>(d));
            } else if (!json::write_double(buffer_, d)) {
                buffer_ += std::isnan(d) ? "nan" : d > 0 ? "inf" : "-inf";  // cannot come from JSON
            }
        }
        buffer_ += ';';
        to_.add(buffer_);
    }

    sha256& to_;
    std::vector<frame> open_;
    std::string buffer_;
    json::value no_members_ = json::object();
};

}  // namespace

std::string parameter_digest(const json::value& params) {
    sha256 digest;
    canonical_writer(digest).write_parameters(params);
    return digest.hex();
}

}  // namespace keel::server_side
