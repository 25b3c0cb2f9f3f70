#include "exit_status.hpp"

#include "output_error.hpp"

#include <keel/error.hpp>
#include <keel/task.hpp>

namespace keel::command {

namespace {

int status_of(error_kind k) {
    switch (k) {
        case error_kind::rejected:
        case error_kind::unauthorized: return exit_status::rejected;
        case error_kind::timed_out: return exit_status::timed_out;
        case error_kind::cancelled: return exit_status::by_signal;
        default: return exit_status::lost;
    }
}

failure of(const error& e) {
    failure f{status_of(e.kind()), e.what(), {}};
    if (e.kind() != error_kind::rejected) return f;
    json::value told = json::object({{"code", e.code()}, {"message", e.what()}});
    if (!e.data().is_null()) told.set("data", e.data());
    f.json = json::to_string(json::object({{"error", std::move(told)}}));
    f.text = "the server rejected the request: " + f.text + " (" + std::to_string(e.code()) + ")";
    return f;
}

}  // namespace

failure describe_failure() {
    try {
        throw;
    } catch (const error& e) {
        return of(e);
    } catch (const cancelled&) {
        return {exit_status::by_signal, "cancelled", {}};
    } catch (const usage_error& e) {
        return {exit_status::usage, e.what(), {}};
    } catch (const output_error& e) {
        return {exit_status::cannot_write, e.what(), {}};
    } catch (const std::exception& e) {
        return {exit_status::lost, e.what(), {}};
    }
}

}  // namespace keel::command
