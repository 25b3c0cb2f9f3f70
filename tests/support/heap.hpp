#pragma once

// The heap memory of this program, for tests of memory use.

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEL_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define KEEL_TEST_SANITIZED 1
#endif
#endif
#ifdef KEEL_TEST_SANITIZED
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#elif defined(__GLIBC__)
#include <malloc.h>
#endif

namespace keel::test {

/// Bytes of heap in use if the platform can report them, otherwise 0.
inline std::size_t heap_in_use() {
#ifdef KEEL_TEST_SANITIZED
    return __sanitizer_get_current_allocated_bytes();
#elif defined(__GLIBC__)
    const auto facts = mallinfo2();
    return facts.uordblks + facts.hblkhd;
#else
    return 0;
#endif
}

}  // namespace keel::test
