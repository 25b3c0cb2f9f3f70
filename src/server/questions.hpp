#pragma once

// Asking the client in revision 2026-07-28: the server cannot send requests, so a call that needs an answer is ended
// with its questions, and runs again when the client calls again with the answers. docs/asking.md tells it in full.

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

/// What one call has asked, in this round and in earlier ones. On the loop of its request.
class questions final : public detail::activity_watcher, public std::enable_shared_from_this<questions> {
public:
    questions(std::shared_ptr<rpc::request> request, std::shared_ptr<server_core> server);

    /// Takes answers and state that came with the request. Throws keel::error when they are not ours, or not well formed.
    void take(std::string_view method, const json::value& params, std::string_view principal);

    /// From now on it is noticed when the handler cannot go on.
    void begin() noexcept { request_->line().watch(this); }

    /// The answer to a question: at once when there is one, else the handler ends in this wait.
    static task<json::value> ask(std::shared_ptr<questions> self, std::string key, std::string method,
                                 json::value params);
    /// The outcome of a step that must not run twice.
    std::optional<json::value> outcome(const std::string& key) const;
    void record(std::string key, json::value outcome);

    /// The handler was ended because it cannot go on without answers: input_required() is the result of the call.
    bool round_ended() const noexcept { return round_ended_; }
    /// Throws keel::error when there were too many rounds or there is too much to remember.
    std::string input_required() const;

private:
    class answer_wait;
    struct exchange {
        std::string method;
        json::value content;  // the parameters of a question, or its answer
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
    std::map<std::string, std::string> asked_before_;  // in the round that the state was sealed in: key and method
    std::map<std::string, exchange> open_;             // asked in this round
    unsigned round_ = 1;
    bool check_posted_ = false;
    bool round_ended_ = false;
    mutable keel::loop::timer timer_ = 0;  // patience while the round lasts, then the grace of the handler's cleanup
    void start_timer(duration d, void (questions::*then)());
    void stop_timer() const noexcept;
};

}  // namespace keel::server_side
