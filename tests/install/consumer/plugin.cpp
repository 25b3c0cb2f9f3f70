// A plugin: a shared library that contains Keel, with a C interface for the program that loads it.

#include "features.hpp"

#define PLUGIN_STRING_OF(x) #x
#define PLUGIN_STRING(x) PLUGIN_STRING_OF(x)
#define PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

namespace {
std::unique_ptr<keel::server> server;
std::string address;
}  // namespace

/// The namespace of the Keel in this plugin: "v0_1".
PLUGIN_EXPORT const char* plugin_keel_abi() { return PLUGIN_STRING(KEEL_ABI); }

/// Serves on a free port; returns "tcp 127.0.0.1:PORT", or nullptr.
PLUGIN_EXPORT const char* plugin_start() {
    try {
        server = std::make_unique<keel::server>(
            keel::implementation{.name = "calculator", .version = PLUGIN_STRING(KEEL_ABI)});
        add_features(*server);
        server->start(keel::endpoint::tcp("127.0.0.1:0"));
        address = server->address();
        return address.c_str();
    } catch (const std::exception&) {
        return nullptr;
    }
}

PLUGIN_EXPORT void plugin_stop() { server.reset(); }
