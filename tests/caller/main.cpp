// A client that tests drive over standard input and output, one JSON text on each line.
//
//     {"do":"open","n":1,"as":"a","target":{"tcp":"127.0.0.1:4711"},"options":{"mode":"legacy"}}
//     {"do":"call","n":2,"as":"a","what":"call_tool","args":{"name":"echo","arguments":{}},"idle":300}
//     {"do":"cancel","n":3,"call":2}       {"do":"close","n":4,"as":"a"}     {"do":"drop","n":5,"as":"a"}
//     {"do":"subscribe","n":6,"as":"a","sub":"s","tools":true}              {"do":"next","n":7,"sub":"s"}
//     {"do":"census","n":8}
//
// Each command prints one line when it has ended: {"n":2,"kind":"result","result":…}, or the error kind with code and
// message. Commands do not wait for each other. At the end of input the program cancels everything and exits.
//
// `test-caller counter …` is a server that counts, `test-caller proxy …` a proxy that breaks connections.

#include "caller.hpp"
#include "counter.hpp"
#include "proxy.hpp"

#include <keel/transport.hpp>

#include <iostream>
#include <string_view>

namespace {

int drive() {
    auto loop = keel::async::epoll_loop::create();
    keel::caller::caller caller(loop);
    std::thread commands([&] {
        for (std::string line; std::getline(std::cin, line);) {
            loop->post([&caller, line] { caller.obey(keel::json::parse(line)); });
        }
        loop->post([&] { caller.end(); });
    });
    loop->run();
    commands.join();
    return caller.broken() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    keel::open_missing_standard_descriptors();
    std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "counter") return keel::caller::count(argc - 1, argv + 1);
    if (what == "proxy") return keel::caller::run_proxy(argc - 1, argv + 1);
    return drive();
}
