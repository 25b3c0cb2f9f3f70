# Programs: the command, the examples, the benchmarks and the fuzz targets. Each file in those folders is a program,
# except for tools/keel, which is one program of many files.

# keel_program(<target> NAME <file name in bin/> SOURCES <file>... [LINK <target>...])
function(keel_program target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME" "SOURCES;LINK")
    add_executable(${target} ${arg_SOURCES})
    # Programs have few files, whose helpers may have the same names: no unity build.
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${arg_NAME} CXX_EXTENSIONS OFF UNITY_BUILD OFF)
    target_link_libraries(${target} PRIVATE keel::keel keel_developer ${arg_LINK})
endfunction()

# The command is a library of its own, so that tests/command can test its parts.
file(GLOB command_sources CONFIGURE_DEPENDS tools/keel/*.cpp)
list(FILTER command_sources EXCLUDE REGEX "/main\\.cpp$")
if(command_sources)
    add_library(keel_command_parts STATIC ${command_sources})
    set_target_properties(keel_command_parts PROPERTIES CXX_EXTENSIONS OFF UNITY_BUILD OFF)
    target_include_directories(keel_command_parts INTERFACE tools/keel)
    target_link_libraries(keel_command_parts PUBLIC keel::keel PRIVATE keel_developer)
    keel_program(keel_command NAME keel SOURCES tools/keel/main.cpp LINK keel_command_parts)
    # Man pages and completion scripts come from the tables of the command itself.
    if(NOT CMAKE_CROSSCOMPILING)
        add_custom_command(
            TARGET keel_command
            POST_BUILD
            COMMAND keel_command __generate ${PROJECT_BINARY_DIR}/generated
            VERBATIM)
    endif()
endif()

file(GLOB conformance_sources CONFIGURE_DEPENDS tools/conformance/*.cpp)
if(conformance_sources)
    keel_program(conformance_server NAME conformance-server SOURCES ${conformance_sources})
endif()

file(GLOB conformance_client_sources CONFIGURE_DEPENDS tools/conformance_client/*.cpp)
if(conformance_client_sources)
    keel_program(
        conformance_client
        NAME conformance-client
        SOURCES ${conformance_client_sources}
        LINK OpenSSL::Crypto)
endif()

add_custom_target(keel_examples)
file(GLOB example_sources CONFIGURE_DEPENDS examples/*.cpp)
foreach(source IN LISTS example_sources)
    cmake_path(GET source STEM name)
    keel_uses_boost(uses_boost ${source})
    if(uses_boost AND NOT TARGET keel_asio)
        list(REMOVE_ITEM example_sources ${source})
        continue()
    endif()
    keel_program(example_${name} NAME example-${name} SOURCES ${source})
    if(uses_boost)
        target_link_libraries(example_${name} PRIVATE keel::asio)
    endif()
    add_dependencies(keel_examples example_${name})
endforeach()

# Built by `--target keel_bench`; nothing else needs them. A file named *_bench.cpp is a Google Benchmark program, any
# other has its own main. They may include internal headers.
add_custom_target(keel_bench)
if(TARGET keel_command)
    add_dependencies(keel_bench keel_command)
endif()
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.cpp bench/*.c)
if(bench_sources)
    enable_language(C)
    find_package(benchmark QUIET)
endif()
foreach(source IN LISTS bench_sources)
    cmake_path(GET source STEM name)
    if(name MATCHES "_bench$" AND NOT benchmark_FOUND)
        message(STATUS "Google Benchmark is not here: bench-${name} is left out")
        continue()
    endif()
    keel_uses_boost(uses_boost ${source})
    if(uses_boost AND NOT TARGET keel_asio)
        continue()
    endif()
    if(source MATCHES "\\.c$")
        # The minimal server for comparison does not use Keel.
        add_executable(bench_${name} ${source})
        set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME bench-${name})
        target_link_libraries(bench_${name} PRIVATE keel_developer)
    else()
        keel_program(bench_${name} NAME bench-${name} SOURCES ${source})
        target_include_directories(bench_${name} PRIVATE src)
        if(uses_boost)
            target_link_libraries(bench_${name} PRIVATE Boost::headers)
        endif()
        if(name MATCHES "_bench$")
            target_link_libraries(bench_${name} PRIVATE benchmark::benchmark benchmark::benchmark_main)
        endif()
    endif()
    set_target_properties(bench_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(keel_bench bench_${name})
endforeach()

add_custom_target(keel_fuzz)
if(KEEL_FUZZ)
    file(GLOB fuzz_sources CONFIGURE_DEPENDS fuzz/*.cpp)
    foreach(source IN LISTS fuzz_sources)
        cmake_path(GET source STEM name)
        keel_uses_boost(uses_boost ${source})
        if(uses_boost AND NOT TARGET keel_asio)
            continue()
        endif()
        keel_program(fuzz_${name} NAME fuzz-${name} SOURCES ${source})
        if(uses_boost)
            target_link_libraries(fuzz_${name} PRIVATE Boost::headers)
        endif()
        target_include_directories(fuzz_${name} PRIVATE src tests)
        target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
        add_dependencies(keel_fuzz fuzz_${name})
    endforeach()
endif()
