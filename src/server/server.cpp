#include "server/server_impl.hpp"

#include <stdexcept>

namespace keel::inline KEEL_ABI {

server::server(implementation about, server_options options)
    : impl_(std::make_shared<impl>(std::move(about), std::move(options))) {}

server::~server() { impl_->shut_down(); }

void server::add(detail::tool_entry entry) {
    bool replace = entry.about.options.replace;
    impl_->core().add_tool(std::move(entry), replace);
    impl_->tell_list_changed(list_kind::tools);
}

void server::add(detail::resource_entry entry) {
    bool replace = entry.options.replace;
    impl_->core().resources.put(std::make_shared<const server_side::resource_offer>(std::move(entry)), replace);
    impl_->tell_list_changed(list_kind::resources);
}

void server::add(detail::template_entry entry) {
    bool replace = entry.options.replace;
    impl_->core().templates.put(std::make_shared<const server_side::template_offer>(std::move(entry)), replace);
    impl_->tell_list_changed(list_kind::resources);
}

void server::add(detail::prompt_entry entry) {
    bool replace = entry.replace;
    impl_->core().prompts.put(std::make_shared<const server_side::prompt_offer>(std::move(entry)), replace);
    impl_->tell_list_changed(list_kind::prompts);
}

void server::add_tool(tool_description about, std::function<tool_result(context&, const json::value&)> f) {
    detail::tool_entry entry;
    entry.about = std::move(about);
    if (f) {
        entry.handler.quick = entry.about.options.quick;
        entry.handler.plain = [f = std::move(f)](context* ctx, const json::value& arguments, detail::reply& out) {
            detail::write_result(out, f(*ctx, arguments));
        };
    }
    add(std::move(entry));
}

namespace {

task<detail::reply> run_open_task(const std::function<task<tool_result>(context, json::value)>& f, context ctx,
                                  json::value arguments) {
    tool_result r = co_await f(std::move(ctx), std::move(arguments));
    detail::reply out;
    detail::write_result(out, r);
    co_return out;
}

}  // namespace

void server::add_tool(tool_description about, std::function<task<tool_result>(context, json::value)> f) {
    detail::tool_entry entry;
    entry.about = std::move(about);
    if (f) {
        entry.handler.coroutine = [f = std::move(f)](context ctx, json::value arguments) {
            return run_open_task(f, std::move(ctx), std::move(arguments));
        };
    }
    add(std::move(entry));
}

bool server::remove_tool(std::string_view name) {
    bool removed = impl_->core().tools.remove(name);
    if (removed) impl_->tell_list_changed(list_kind::tools);
    return removed;
}

bool server::remove_resource(std::string_view uri) {
    bool removed = impl_->core().resources.remove(uri);
    if (removed) impl_->tell_list_changed(list_kind::resources);
    return removed;
}

bool server::remove_resource_template(std::string_view uri_template) {
    bool removed = impl_->core().templates.remove(uri_template);
    if (removed) impl_->tell_list_changed(list_kind::resources);
    return removed;
}

bool server::remove_prompt(std::string_view name) {
    bool removed = impl_->core().prompts.remove(name);
    if (removed) impl_->tell_list_changed(list_kind::prompts);
    return removed;
}

void server::resource_updated(std::string_view uri) { impl_->core().topics.publish(uri); }
void server::resources_changed() { impl_->tell_list_changed(list_kind::resources); }

void server::add_start_hook(std::function<detail::started_state()> f) { impl_->hooks().add_start(std::move(f)); }
void server::on_stop(std::function<void()> f) { impl_->hooks().add_stop(std::move(f)); }

void server::use(middleware m) {
    impl_->hooks().refuse_while_running("use");
    if (!m) throw std::invalid_argument("keel: server::use: the middleware is empty");
    impl_->core().around.push_back(std::move(m));
}

void server::start(endpoint where) {
    impl_->begin_serving();
    impl_->open_in_background(where);
}

std::string server::address() const { return impl_->address(); }

void server::serve(std::shared_ptr<loop> on, std::unique_ptr<connection> wire,
                   std::function<void(const connection_end&)> ended, std::string principal) {
    impl_->begin();
    impl_->serve(std::move(on), std::move(wire), impl_->core().options.limits, std::move(ended), std::move(principal));
}

void server::request_stop(duration drain) { impl_->request_stop(drain); }

void server::request_stop(duration drain, std::function<void()> stopped) {
    if (!stopped) throw std::invalid_argument("keel: server::request_stop: the callback is empty");
    impl_->request_stop_then(drain, std::move(stopped));
}

void server::stop(duration drain) {
    impl_->refuse_in_handler("stop");
    impl_->hooks().refuse_in_hook("stop");
    impl_->stop(drain);
}

connection_end server::wait() {
    impl_->refuse_in_handler("wait");
    return impl_->wait();
}

server_health server::health() const {
    server_health h = impl_->core().health();
    h.connections = impl_->sessions();
    return h;
}

const implementation& server::about() const noexcept { return impl_->core().about; }

}  // namespace keel
