#pragma once

#define KEEL_VERSION "0.1.0"

// Everything of Keel is in an inline namespace that carries the version (`keel::v0_1::server` is spelled `keel::server`), so
// that one process can load two plugins built with different versions. Forward declarations in user code must name it too, or
// better, include the header. Before 1.0 each minor version has a name of its own.
#define KEEL_ABI v0_1
