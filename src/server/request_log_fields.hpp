#pragma once

// The fields of a log record that describe a request.

#include "rpc/peer_core.hpp"
#include "server/method_stats.hpp"

#include <keel/log.hpp>

#include <string>

namespace keel::inline KEEL_ABI::server_side {

class request_log_fields {
public:
    /// `stats` must outlive this object.
    request_log_fields(const method_stats& stats, const rpc::request_facts& about, time_point now)
        : id_(about.id.is_string() ? about.id.text() : json::to_string(about.id.as_json())),
          method_(stats.method_name(about.kind)), tool_(stats.tool_name(about.label)), took_(now - about.since) {}

    /// This object must outlive the use of the record.
    void add_to(log_record& record) const {
        record.request_id = id_;
        record.method = method_;
        record.tool = tool_;
        record.took = std::chrono::duration_cast<std::chrono::nanoseconds>(took_);
    }

private:
    std::string id_;
    std::string_view method_;
    std::string_view tool_;
    duration took_;
};

}  // namespace keel::server_side
