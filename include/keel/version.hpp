#pragma once

// The version of the library, its inline namespace, and the visibility of its symbols.

#define KEEL_VERSION "0.1.0"

// Everything is in an inline namespace that carries the version (`keel::v0_1::server` is spelled `keel::server`), so that
// one process can load two plugins built with different versions of Keel. To forward-declare a Keel type, include its
// header instead. Before 1.0 each minor version has a namespace of its own.
#define KEEL_ABI v0_1

// KEEL_API marks what the shared library exports. CMake defines KEEL_SHARED for the shared library and for its users, and
// KEEL_BUILDING while it compiles the library. In a static library KEEL_API is empty: nothing of Keel is exported from a
// program or plugin that contains it, provided that its own files are compiled with -fvisibility=hidden.
#if !defined(KEEL_SHARED)
#define KEEL_API
#elif !defined(_WIN32)
#define KEEL_API [[gnu::visibility("default")]]
#elif defined(KEEL_BUILDING)
#define KEEL_API __declspec(dllexport)
#else
#define KEEL_API __declspec(dllimport)
#endif
