#pragma once

// A picture and a sound that are small enough for a source file.

#include <string>
#include <string_view>

namespace keel::demo {

/// A boat, 8 by 8 pixels, as Base64.
inline constexpr std::string_view boat_png =
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQMAAAD+wSzIAAAABlBMVEX///8UPHhjwFgjAAAAGElEQVR42mMQYJBgkGGQYxBg+M9Qx2ADAAubAiww/"
    "wDE"
    "AAAAAElFTkSuQmCC";

/// A tenth of a second of 440 Hz: a WAV file.
std::string beep_wav();

}  // namespace keel::demo
