#pragma once

// One client of a server: what its messages mean under the revision in force.

#include "rpc/peer.hpp"
#include "server/call_state.hpp"
#include "server/server_core.hpp"

#include <keel/server.hpp>

#include <functional>
#include <memory>
#include <string>

namespace keel::server_side {

/// Lives on its loop. Kept by the server until `ended` is called, which is the last thing it does.
class session final : public rpc::peer_user, public std::enable_shared_from_this<session> {
public:
    session(std::shared_ptr<server_core> server, std::function<void(const connection_end&)> ended);

    void start(std::shared_ptr<loop> on, std::unique_ptr<connection> wire, const limits& bounds);
    /// `keep` is held until the session has ended.
    void close(duration drain, std::shared_ptr<void> keep = {});
    /// The tools are others now: clients of older revisions are told.
    void tools_changed();
    bool closed() const noexcept { return !peer_ || peer_->closed(); }

private:
    using revision = protocol::revision;
    enum class era : unsigned char { unknown, legacy, modern };

    /// One request, with what its era says about it.
    struct incoming {
        rpc::serial id;
        std::string_view method;
        const json::value& params;
        revision rev;
    };

    // rpc::peer_user
    void on_request(rpc::peer&, rpc::serial id, std::string_view method, const json::value* params) override;
    void on_notification(rpc::peer&, std::string_view method, const json::value* params) override;
    void on_report(std::string_view text) override;
    void on_closed(std::string_view cause, std::size_t abandoned) override;

    // session_legacy.cpp: revisions up to 2025-11-25
    void on_legacy(rpc::serial id, std::string_view method, const json::value& params);
    void initialize(rpc::serial id, const json::value& params);
    void set_log_level(const incoming& in);
    // session_modern.cpp: revision 2026-07-28
    void on_modern(rpc::serial id, std::string_view method, const json::value& params, const json::value& meta);
    void discover(const incoming& in);
    void refuse_version(rpc::serial id, std::string_view message, std::string_view requested);

    // session_tools.cpp: the same for both
    void list_tools(const incoming& in);
    void call_tool(const incoming& in);
    void run_quick(const incoming& in, const tool& t, const json::value& arguments);
    void run_on_worker(const incoming& in, std::shared_ptr<const tool> t, const json::value& arguments);
    void run_as_task(const incoming& in, std::shared_ptr<const tool> t, const json::value& arguments);
    context make_context(const incoming& in);
    const tool_table& tools();

    void reject(rpc::serial id, int code, std::string message, json::value data = {});
    void unknown_method(const incoming& in);
    void tell_tools_changed();
    void take_totals();

    std::shared_ptr<server_core> server_;
    std::function<void(const connection_end&)> ended_;
    std::shared_ptr<rpc::peer> peer_;
    std::shared_ptr<void> keep_;

    era era_ = era::unknown;
    bool close_due_ = false;                        // closed before it was started
    std::shared_ptr<detail::client_facts> client_;  // legacy: of the whole session

    std::shared_ptr<const tool_table> tools_;
    std::uint64_t tools_version_ = 0;
    bool list_changed_due_ = false;
    loop::timer retry_ = 0;

    detail::reply reply_;  // reused from call to call
    std::string text_;
    rpc::counters told_;  // what has gone into the server's totals
    time_point reports_since_{};
    unsigned reports_ = 0;
};

/// The text of a tool's result under a revision.
void write_tool_result(std::string& out, const detail::reply& r, protocol::revision rev, const server_core& server);
/// What a failing tool means for the peer: a result for the model, or an error.
rpc::handler_outcome outcome_of_failure(std::exception_ptr thrown, bool told_to_stop, protocol::revision rev,
                                        const server_core& server);

}  // namespace keel::server_side
