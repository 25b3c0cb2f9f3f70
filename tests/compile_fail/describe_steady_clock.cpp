// expect: keel: only times of std::chrono::system_clock can be described
#include <keel/describe.hpp>

#include <chrono>

keel::json::value f(std::chrono::steady_clock::time_point t) { return keel::encode(t); }
