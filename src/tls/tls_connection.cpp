#include "tls/tls_connection.hpp"

#include "tls/certificate_error.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

namespace keel::inline KEEL_ABI::tls {

namespace {

constexpr std::size_t largest_record = SSL3_RT_MAX_PLAIN_LENGTH;
// Limit of the cipher text that waits to be sent: above it, write accepts no more.
constexpr std::size_t output_mark = 64 * 1024;
// Reached only if a peer requests TLS messages (key updates, alerts) and does not read them.
constexpr std::size_t output_bound = 2 * output_mark;

constexpr std::string_view answer_to_plain_http =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    "This port requires TLS: use an https:// URL.\n";

}  // namespace

/// The implementation. A separate object, because it outlives its tls_connection in two cases: inside a call to a
/// listener that destroyed the connection, and while the last output is being sent.
///
/// OpenSSL reads cipher text from `input_` and writes it to `output_`; it never blocks, and no listener is called from
/// inside OpenSSL.
class tls_connection::stream final : public connection::listener, public std::enable_shared_from_this<stream> {
public:
    stream(loop& l, std::unique_ptr<connection> raw, session s, duration flush_timeout)
        : loop_(l), raw_(std::move(raw)), session_(std::move(s)), flush_timeout_(flush_timeout) {
        BIO* wire = BIO_new(bio_method());
        if (!wire) throw std::runtime_error("cannot start a TLS connection: " + take_reason());
        BIO_set_data(wire, this);
        BIO_set_init(wire, 1);
        SSL_set_bio(session_.get(), wire, wire);
    }
    ~stream() = default;

    void start(connection::listener& l) {
        if (closed_) return;
        raw_->start(*this);
        user_ = &l;
        if (to_begin()) post_turn();  // posted: it may fail, and a failure cannot be reported from inside start
    }
    written write(std::string_view bytes);
    void pause() noexcept {
        if (!std::exchange(paused_, true)) raw_->pause();
    }
    void resume();
    void close() noexcept;
    connection& raw() noexcept { return *raw_; }
    bool handshaken() const noexcept { return handshaken_; }

    // Calls of the connection below.
    void on_input(std::string_view bytes) override;
    void on_input_end() override;
    void on_failure(std::string_view cause) override;
    void on_writable() override;

private:
    static BIO_METHOD* bio_method();
    static stream& of(BIO* b) noexcept { return *static_cast<stream*>(BIO_get_data(b)); }
    static int read_wire(BIO*, char* to, int size);
    static int write_wire(BIO*, const char* from, int size);
    static long control_wire(BIO*, int command, long, void*);

    bool reading() const noexcept { return user_ && !failed_ && !paused_ && !input_ended_; }
    /// True for a client that has not sent its ClientHello.
    bool to_begin() const noexcept { return !SSL_is_server(session_.get()) && SSL_in_before(session_.get()) == 1; }
    void post_turn();
    void take_turn();
    void advance(std::string_view cipher);
    bool step();
    void stopped(int result);
    void tell_end();
    void tell_writable();
    void fail(std::string cause);
    void flush();
    void linger();
    void stop_lingering();

    loop& loop_;  // must outlive this object: `raw_` needs it as long
    std::unique_ptr<connection> raw_;
    session session_;
    duration flush_timeout_;
    connection::listener* user_ = nullptr;  // null before start and after close

    std::string_view input_;  // during advance(): input that OpenSSL has not read yet
    std::string held_;        // the same, while reading is paused
    std::string output_;
    std::string output_failure_;  // not empty: writing has failed for good
    loop::timer timer_ = 0;       // runs while the last output is being sent

    bool handshaken_ = false;
    bool paused_ = false;
    bool advancing_ = false;
    bool turn_posted_ = false;
    bool raw_ended_ = false;    // no more bytes will arrive
    bool input_ended_ = false;  // reported to the listener
    bool raw_blocked_ = false;  // a write to the connection below was partial
    bool blocked_ = false;      // a write by the owner was partial
    bool failed_ = false;
    bool closed_ = false;
};

// ---- between OpenSSL and the connection below ----

BIO_METHOD* tls_connection::stream::bio_method() {
    // Never freed: a connection may be closed by a static object that is destroyed last.
    static BIO_METHOD* const made = [] {
        BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "keel connection");
        if (m) {
            BIO_meth_set_read(m, read_wire);
            BIO_meth_set_write(m, write_wire);
            BIO_meth_set_ctrl(m, control_wire);
        }
        return m;
    }();
    return made;
}

int tls_connection::stream::read_wire(BIO* b, char* to, int size) {
    BIO_clear_retry_flags(b);
    std::string_view& from = of(b).input_;
    std::size_t n = std::min(from.size(), static_cast<std::size_t>(std::max(size, 0)));
    if (n == 0) {
        BIO_set_retry_read(b);
        return -1;
    }
    from.copy(to, n);
    from.remove_prefix(n);
    return static_cast<int>(n);
}

// Accepts everything, so that OpenSSL never has to resume a partial record. The size is bounded because write() stops
// accepting.
int tls_connection::stream::write_wire(BIO* b, const char* from, int size) {
    BIO_clear_retry_flags(b);
    stream& self = of(b);
    if (size <= 0) return 0;
    auto n = static_cast<std::size_t>(size);
    if (self.output_.size() + n > output_bound && self.output_failure_.empty()) {
        self.output_failure_ = "the peer does not read the TLS messages that it requests";
    }
    if (!self.output_failure_.empty()) return -1;
    try {
        self.output_.append(from, n);
    } catch (const std::bad_alloc&) {  // an exception must not pass through OpenSSL's frames
        self.output_failure_ = "out of memory";
        return -1;
    }
    return size;
}

long tls_connection::stream::control_wire(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

void tls_connection::stream::flush() {
    if (raw_blocked_ || output_.empty() || !output_failure_.empty()) return;
    written done = raw_->write(output_);
    if (!done.failure.empty()) {
        output_failure_ = std::move(done.failure);
        output_ = {};
        return;
    }
    raw_blocked_ = done.bytes < output_.size();
    if (raw_blocked_) {
        output_.erase(0, done.bytes);
    } else {
        output_ = {};  // an idle connection keeps no buffer
    }
}

// ---- input ----

void tls_connection::stream::on_input(std::string_view bytes) {
    auto self = shared_from_this();
    if (!user_ || failed_ || input_ended_) return;
    if (paused_ || !held_.empty()) {
        held_ += bytes;
        return;
    }
    advance(bytes);
}

void tls_connection::stream::on_input_end() {
    auto self = shared_from_this();
    raw_ended_ = true;
    if (reading() && held_.empty()) tell_end();
}

void tls_connection::stream::on_failure(std::string_view cause) {
    auto self = shared_from_this();
    output_failure_ = cause;
    if (closed_) return stop_lingering();
    fail(std::string(cause));
}

/// Lets OpenSSL process cipher text until it needs more, or the owner has paused or closed.
void tls_connection::stream::advance(std::string_view cipher) {
    advancing_ = true;
    input_ = cipher;
    while (reading() && step()) {
    }
    advancing_ = false;
    if (user_ && paused_ && !failed_ && !input_ended_) held_.assign(input_);
    input_ = {};
    tell_writable();  // a write may have waited for the handshake or a key update
    if (raw_ended_ && reading()) tell_end();
}

/// Returns false if OpenSSL needs more input or has failed.
bool tls_connection::stream::step() {
    ERR_clear_error();
    if (!handshaken_) {
        if (int done = SSL_do_handshake(session_.get()); done != 1) {
            stopped(done);
            return false;
        }
        handshaken_ = true;
        flush();
        return true;
    }
    char room[largest_record];  // large enough for a whole record, so that none of it stays in OpenSSL
    int n = SSL_read(session_.get(), room, static_cast<int>(sizeof room));
    if (n <= 0) {
        stopped(n);
        return false;
    }
    user_->on_input(std::string_view(room, static_cast<std::size_t>(n)));
    return true;
}

void tls_connection::stream::stopped(int result) {
    int why = SSL_get_error(session_.get(), result);
    unsigned long error = ERR_peek_last_error();
    int tls_error = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
    std::string reason = why == SSL_ERROR_WANT_READ ? std::string() : take_reason();
    if (SSL_is_server(session_.get())) {
        // OpenSSL has sent nothing, and an HTTP client would not understand an alert.
        if (tls_error == SSL_R_HTTP_REQUEST) output_ += answer_to_plain_http;
    } else if (tls_error == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        reason = certificate_error(session_.get());
    } else if (tls_error == SSL_R_WRONG_VERSION_NUMBER && !handshaken_) {
        reason += " (is this a TLS port?)";
    }
    flush();  // the next part of the handshake, or an alert
    if (!output_failure_.empty()) return fail(output_failure_);
    if (why == SSL_ERROR_WANT_READ) return;
    if (why == SSL_ERROR_ZERO_RETURN) return tell_end();
    fail((handshaken_ ? "TLS failed: " : "the TLS handshake failed: ") + reason);
}

void tls_connection::stream::tell_end() {
    if (!handshaken_) return fail("the peer closed the connection during the TLS handshake");
    input_ended_ = true;
    raw_->pause();  // input after close_notify is ignored; a hang-up is still detected
    user_->on_input_end();
}

void tls_connection::stream::fail(std::string cause) {
    if (!user_ || std::exchange(failed_, true)) return;
    held_ = {};
    raw_->pause();
    user_->on_failure(cause);
}

void tls_connection::stream::resume() {
    if (!std::exchange(paused_, false) || !user_ || failed_ || input_ended_) return;
    if (advancing_ || (held_.empty() && !raw_ended_ && !to_begin())) return raw_->resume();
    post_turn();
}

void tls_connection::stream::post_turn() {
    if (std::exchange(turn_posted_, true)) return;
    loop_.post([weak = weak_from_this()] {
        if (auto self = weak.lock()) self->take_turn();
    });
}

void tls_connection::stream::take_turn() {
    turn_posted_ = false;
    if (!reading()) return;
    std::string cipher = std::exchange(held_, {});
    advance(cipher);
    if (reading()) raw_->resume();
}

// ---- output ----

connection::written tls_connection::stream::write(std::string_view bytes) {
    if (closed_ || failed_) return {0, "the connection is closed"};
    if (blocked_ || bytes.empty()) return {};
    written done;
    while (handshaken_ && done.bytes < bytes.size()) {
        if (output_.size() >= output_mark) {
            flush();
            if (output_.size() >= output_mark) break;
        }
        std::string_view record = bytes.substr(done.bytes, largest_record);
        ERR_clear_error();
        int n = SSL_write(session_.get(), record.data(), static_cast<int>(record.size()));
        if (n <= 0) {
            // SSL_write needs input only during a key update; it continues when that has arrived.
            int why = SSL_get_error(session_.get(), n);
            std::string reason = why == SSL_ERROR_WANT_READ ? std::string() : "TLS failed: " + take_reason();
            if (output_failure_.empty()) output_failure_ = std::move(reason);
            break;
        }
        done.bytes += static_cast<std::size_t>(n);
    }
    flush();
    if (!output_failure_.empty()) {
        failed_ = true;
        raw_->pause();
        done.failure = output_failure_;
    } else {
        blocked_ = done.bytes < bytes.size();
    }
    return done;
}

void tls_connection::stream::on_writable() {
    auto self = shared_from_this();
    raw_blocked_ = false;
    flush();
    if (closed_) {
        if (output_.empty()) stop_lingering();
    } else if (!output_failure_.empty()) {
        fail(output_failure_);
    } else {
        tell_writable();
    }
}

void tls_connection::stream::tell_writable() {
    if (!blocked_ || !handshaken_ || !user_ || failed_ || output_.size() > output_mark / 2) return;
    blocked_ = false;
    user_->on_writable();
}

// ---- the end ----

void tls_connection::stream::close() noexcept {
    if (std::exchange(closed_, true)) return;
    bool started = std::exchange(user_, nullptr) != nullptr;
    if (handshaken_ && !failed_) {
        ERR_clear_error();
        SSL_shutdown(session_.get());
        ERR_clear_error();  // not possible during a key update; the peer then sees the end without close_notify
    }
    session_.reset();
    held_ = {};
    try {
        flush();
        if (started && !output_.empty() && output_failure_.empty()) return linger();
    } catch (const std::exception&) {
        // No timer: close the connection below now, with the output that it has accepted.
    }
    raw_->close();
}

void tls_connection::stream::linger() {
    time_point until = after(loop_.now(), flush_timeout_);
    timer_ = loop_.start_timer(until, [self = shared_from_this()] {
        self->timer_ = 0;
        self->raw_->close();
    });
    if (timer_ == 0) return raw_->close();  // the loop has ended
    raw_->resume();                         // and drop the input: a peer that is blocked in sending might never read
}

void tls_connection::stream::stop_lingering() {
    raw_->close();
    loop_.stop_timer(std::exchange(timer_, 0));
}

// ---- tls_connection ----

tls_connection::tls_connection(loop& l, std::unique_ptr<connection> raw, session s, duration flush_timeout)
    : stream_(std::make_shared<stream>(l, std::move(raw), std::move(s), flush_timeout)) {}

tls_connection::tls_connection(loop& l, std::unique_ptr<connection> raw, const tls_context& context,
                               duration flush_timeout)
    : tls_connection(l, std::move(raw), context.new_session(), flush_timeout) {}

tls_connection::~tls_connection() { stream_->close(); }

void tls_connection::start(listener& l) { stream_->start(l); }
connection::written tls_connection::write(std::string_view bytes) { return stream_->write(bytes); }
void tls_connection::pause() noexcept { stream_->pause(); }
void tls_connection::resume() { stream_->resume(); }
void tls_connection::expect_more_input() noexcept { stream_->raw().expect_more_input(); }
void tls_connection::close() noexcept { stream_->close(); }
bool tls_connection::handshaken() const noexcept { return stream_->handshaken(); }

std::string tls_connection::describe() const {
    std::string below = stream_->raw().describe();
    return "tls " + (below.starts_with("tcp ") ? below.substr(4) : below);
}

}  // namespace keel::tls
