# Settings for developing Keel: warnings, sanitizers, a compiler cache, a fast linker, one folder for all programs.
include(CTest)

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

find_program(KEEL_CCACHE ccache)
if(KEEL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # With precompiled headers the cache must rely on the compiler's dependency output.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${KEEL_CCACHE})
    set(CMAKE_C_COMPILER_LAUNCHER ${KEEL_CCACHE})
endif()

# Flags of all our programs, tests and libraries.
add_library(keel_developer INTERFACE)
target_compile_options(
    keel_developer
    INTERFACE -Wall
              -Wextra
              -Wpedantic
              -Wshadow
              $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
              $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wconversion>
              "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>"
              # In a unity build the names of one file are visible in the next.
              $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-shadow>
              $<$<BOOL:${KEEL_WERROR}>:-Werror>)

if(KEEL_SANITIZE)
    target_compile_options(keel_developer INTERFACE -fsanitize=${KEEL_SANITIZE} -fno-sanitize-recover=all
                                                    -fno-omit-frame-pointer)
    target_link_options(keel_developer INTERFACE -fsanitize=${KEEL_SANITIZE})
endif()
if(KEEL_FUZZ)
    target_compile_options(keel_developer INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    include(CheckLinkerFlag)
    check_linker_flag(CXX -fuse-ld=lld KEEL_HAVE_LLD)
    if(KEEL_HAVE_LLD)
        target_link_options(keel_developer INTERFACE -fuse-ld=lld)
        if(NOT KEEL_SANITIZE AND NOT KEEL_FUZZ)
            # Small programs: without unused functions, equal functions once, relocations in their compact form.
            target_link_options(keel_developer INTERFACE -Wl,--gc-sections,--icf=safe,-z,pack-relative-relocs)
        endif()
    endif()
endif()
