#pragma once

// Asking the client in revision 2026-07-28. The server cannot send requests, so a call that needs an answer ends with a
// result that contains its questions, and runs again when the client repeats the call with the answers. See docs/asking.md.

#include "rpc/request.hpp"
#include "server/sealed_state.hpp"
#include "server/server_core.hpp"

#include <keel/json.hpp>
#include <keel/task.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace keel::inline KEEL_ABI::server_side {

/// The questions and answers of one call, of this round and earlier ones. Used on the loop of the request only.
class questions final : public detail::activity_watcher, public std::enable_shared_from_this<questions> {
public:
    questions(std::shared_ptr<rpc::request> request, std::shared_ptr<server_core> server);

    /// Reads the answers and the state in the request. Throws keel::error if they are invalid.
    void take(std::string_view method, const json::value& params, std::string_view principal);

    /// Starts to watch whether the handler can continue without answers.
    void begin() noexcept { request_->line().watch(this); }

    /// Returns the answer if the request contains it; otherwise the handler is stopped in this wait.
    static task<json::value> ask(std::shared_ptr<questions> self, std::string key, std::string method,
                                 json::value params);
    /// The recorded result of a step that must not run twice; nullopt if it has not run.
    std::optional<json::value> outcome(const std::string& key) const;
    void record(std::string key, json::value outcome);

    /// True if the handler was stopped because it cannot continue without answers; the result is then input_required().
    bool round_ended() const noexcept { return round_ended_; }
    /// Throws keel::error if there were too many rounds or the state is too large.
    std::string input_required() const;

private:
    class answer_wait;
    struct exchange {
        std::string method;
        json::value content;  // parameters of a question, or its answer
    };

    void on_wait() noexcept override;
    void check_round();
    void end_round();
    void give_up();
    void open_state(std::string_view sealed);
    [[noreturn]] void refuse_state(const char* reason) const;
    void take_answers(const json::value& responses, bool with_state);

    const std::shared_ptr<rpc::request> request_;
    const std::shared_ptr<server_core> server_;
    state_sealer::binding binding_;
    std::optional<spent_states::nonce> used_;

    std::map<std::string, exchange> answers_;
    std::map<std::string, json::value> outcomes_;
    std::map<std::string, std::string> asked_before_;  // in the previous round: key and method
    std::map<std::string, exchange> open_;             // asked in this round
    unsigned round_ = 1;
    bool check_posted_ = false;
    bool round_ended_ = false;
    mutable keel::loop::timer timer_ = 0;  // `patience` during the round, then the handler's cleanup grace
    void start_timer(duration d, void (questions::*then)());
    void stop_timer() const noexcept;
};

}  // namespace keel::server_side
