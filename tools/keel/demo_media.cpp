#include "demo_media.hpp"

#include <cmath>
#include <cstdint>
#include <numbers>

namespace keel::demo {

namespace {

void append_little_endian(std::string& out, std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFFU);
}

}  // namespace

std::string beep_wav() {
    constexpr std::uint32_t rate = 8000;  // samples per second, one byte each
    constexpr std::uint32_t samples = rate / 10;
    std::string out = "RIFF";
    append_little_endian(out, 36 + samples, 4);
    out += "WAVEfmt ";
    append_little_endian(out, 16, 4);  // size of this chunk
    append_little_endian(out, 1, 2);   // PCM
    append_little_endian(out, 1, 2);   // one channel
    append_little_endian(out, rate, 4);
    append_little_endian(out, rate, 4);  // bytes per second
    append_little_endian(out, 1, 2);     // bytes per sample
    append_little_endian(out, 8, 2);     // bits per sample
    out += "data";
    append_little_endian(out, samples, 4);
    for (std::uint32_t i = 0; i < samples; ++i) {
        double angle = 2 * std::numbers::pi * 440 * i / rate;
        out += static_cast<char>(static_cast<unsigned char>(128 + 100 * std::sin(angle)));
    }
    return out;
}

}  // namespace keel::demo
