# Programs: the command, the examples, the benchmarks and the fuzz targets. Each file in those folders is a program,
# except for tools/keel, which is one program of many files.

# keel_program(<target> NAME <file name in bin/> SOURCES <file>... [LINK <target>...])
function(keel_program target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME" "SOURCES;LINK")
    add_executable(${target} ${arg_SOURCES})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${arg_NAME} CXX_EXTENSIONS OFF)
    target_link_libraries(${target} PRIVATE keel::keel keel_developer ${arg_LINK})
endfunction()

file(GLOB command_sources CONFIGURE_DEPENDS tools/keel/*.cpp)
if(command_sources)
    keel_program(keel_command NAME keel SOURCES ${command_sources})
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
        LINK Boost::headers OpenSSL::Crypto)
endif()

add_custom_target(keel_examples)
file(GLOB example_sources CONFIGURE_DEPENDS examples/*.cpp)
foreach(source IN LISTS example_sources)
    cmake_path(GET source STEM name)
    keel_program(example_${name} NAME example-${name} SOURCES ${source})
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
    if(source MATCHES "\\.c$")
        # The minimal server for comparison does not use Keel.
        add_executable(bench_${name} ${source})
        set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME bench-${name})
        target_link_libraries(bench_${name} PRIVATE keel_developer)
    else()
        keel_program(bench_${name} NAME bench-${name} SOURCES ${source} LINK Boost::headers)
        target_include_directories(bench_${name} PRIVATE src)
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
        keel_program(fuzz_${name} NAME fuzz-${name} SOURCES ${source} LINK Boost::headers)
        target_include_directories(fuzz_${name} PRIVATE src tests)
        target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
        add_dependencies(keel_fuzz fuzz_${name})
    endforeach()
endif()
