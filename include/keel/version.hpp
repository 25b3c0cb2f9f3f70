#pragma once

#define KEEL_VERSION "0.1.0"
