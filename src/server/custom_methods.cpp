// Custom methods and notifications.

#include "rpc/message.hpp"
#include "server/invocation.hpp"
#include "server/server_impl.hpp"

#include <keel/server.hpp>

namespace keel::inline KEEL_ABI {

namespace {

void check_name(const std::string& name, bool has_function) {
    std::string shown = rpc::printable(name);
    if (name.empty() || !json::is_utf8(name))
        throw std::invalid_argument("keel: invalid method name: it must be non-empty UTF-8");
    if (protocol::find_method(name) != protocol::method::other || name.starts_with("rpc.") ||
        name == "notifications/initialized" || name == "notifications/cancelled" || name == "notifications/progress") {
        throw std::invalid_argument("keel: method \"" + shown + "\": the name is reserved by the protocol");
    }
    if (!has_function) throw std::invalid_argument("keel: method \"" + shown + "\": the function is empty");
}

void write_object(detail::reply& out, const json::value& result) {
    if (!result.is_object()) throw detail::bad_result("the result of a method is not an object");
    json::value members = result;
    if (const json::value* meta = members.find("_meta")) {
        detail::write_meta(out, *meta);
        members.erase("_meta");
    }
    members.erase("resultType");  // set by the library
    if (!json::write(out.content, members)) detail::throw_unexpressible();
}

task<detail::reply> run_custom(const std::function<task<json::value>(context, json::value)>& f, context ctx,
                               json::value params) {
    json::value result = co_await f(std::move(ctx), std::move(params));
    detail::reply out;
    write_object(out, result);
    co_return out;
}

}  // namespace

void server::add_method(std::string name, std::function<json::value(context&, const json::value&)> f) {
    check_name(name, static_cast<bool>(f));
    auto offer = std::make_shared<server_side::method_offer>();
    offer->name = std::move(name);
    offer->stats_slot = impl_->core().stats.slot_of(offer->name);
    offer->handler.plain = [f = std::move(f)](context* ctx, const json::value& params, detail::reply& out) {
        write_object(out, f(*ctx, params));
    };
    impl_->core().methods.put(std::move(offer), false);
}

void server::add_method(std::string name, std::function<task<json::value>(context, json::value)> f) {
    check_name(name, static_cast<bool>(f));
    auto offer = std::make_shared<server_side::method_offer>();
    offer->name = std::move(name);
    offer->stats_slot = impl_->core().stats.slot_of(offer->name);
    offer->handler.coroutine = [f = std::move(f)](context ctx, json::value params) {
        return run_custom(f, std::move(ctx), std::move(params));
    };
    impl_->core().methods.put(std::move(offer), false);
}

void server::add_notification(std::string name, std::function<void(std::string_view, const json::value&)> f) {
    impl_->hooks().refuse_while_running("add_notification");
    check_name(name, static_cast<bool>(f));
    if (!impl_->core().notifications.emplace(name, std::move(f)).second) {
        throw std::invalid_argument("keel: notification \"" + name + "\": already exists");
    }
}

}  // namespace keel

namespace keel::inline KEEL_ABI::server_side {

namespace {

void write_method(result_text& out, detail::reply& r, protocol::revision rev, const server_core& server, const void*) {
    r.content.pop_back();  // the members and an opening brace are left
    const bool has_members = r.content.size() > 1;
    if (protocol::is_modern(rev)) {
        if (has_members) r.content.front() = ',';
        else r.content.clear();
        out.before += R"({"resultType":"complete")";
        return end_result(out.after, rev, server, r.meta);
    }
    if (r.meta.size() > 2) {  // not {}; all revisions have it in results
        if (has_members) out.after += ',';
        out.after += R"("_meta":)";
        out.after += r.meta;
    }
    out.after += '}';
}

}  // namespace

invocation find_method(const incoming& in, const table<method_offer>& methods) {
    const std::shared_ptr<const method_offer>* found = methods.find(in.name);
    if (!found) throw error(error_code::method_not_found, "method not found: " + rpc::printable(in.name));
    invocation call;
    call.offer = *found;
    call.handler = &(*found)->handler;
    call.write = &write_method;
    call.input = &in.params;
    return call;
}

}  // namespace keel::server_side
