#include "server/middleware_chain.hpp"

#include "server/server_core.hpp"

#include <keel/handler.hpp>

namespace keel::inline KEEL_ABI::server_side {

namespace {

/// One request in the chain. The `next` functions share it: a middleware may keep its own longer than the request.
struct chain {
    const std::shared_ptr<server_core> server;
    const chain_end end;
};

task<json::value> run_from(std::shared_ptr<chain> c, std::size_t position, request_call& call) {
    if (position < c->server->around.size()) {
        auto called = std::make_shared<bool>(false);
        next_handler next = [c, position, called](request_call& passed_on) {
            if (std::exchange(*called, true)) throw std::logic_error("keel: a middleware called next() twice");
            return run_from(c, position + 1, passed_on);
        };
        co_return co_await c->server->around[position](call, std::move(next));
    }
    std::string text = co_await c->end(call);
    co_return json::parse(text);
}

/// VER-18: adds the members that every result of 2026-07-28 has, also to results created by middleware.
void complete_result(json::value& result, const server_core& server) {
    if (!result.contains("resultType")) result.set("resultType", "complete");
    if (!result.contains("_meta")) result.set("_meta", json::object());
    json::value& meta = *result.find("_meta");
    if (!meta.is_object()) throw detail::bad_result("the _meta of a result is not an object");
    if (!meta.contains(protocol::meta_key::server_info)) {
        meta.set(protocol::meta_key::server_info, json::parse(server.info_json(protocol::latest)));
    }
}

}  // namespace

task<std::string> run_chain(std::shared_ptr<detail::call_state> call, json::value params, chain_end end) {
    auto c = std::make_shared<chain>(chain{call->server, std::move(end)});
    request_call passed_on{context(call), call->method, std::move(params)};
    json::value result = co_await run_from(c, 0, passed_on);
    if (!result.is_object()) throw detail::bad_result("the result of a middleware is not an object");
    if (protocol::is_modern(call->client->revision)) complete_result(result, *call->server);
    std::string text;
    if (!json::write(text, result)) detail::throw_unexpressible();
    co_return text;
}

}  // namespace keel::server_side
