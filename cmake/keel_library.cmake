# keel_library(<name> FOLDERS <folder under src/>...) makes the static library keel_<name>, known as keel::<name>.
function(keel_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS")
    list(TRANSFORM arg_FOLDERS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/\\1/*.cpp" OUTPUT_VARIABLE patterns)
    file(GLOB sources CONFIGURE_DEPENDS ${patterns})

    add_library(keel_${name} STATIC ${sources})
    add_library(keel::${name} ALIAS keel_${name})
    target_compile_features(keel_${name} PUBLIC cxx_std_20)
    target_include_directories(
        keel_${name}
        PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
        PRIVATE ${PROJECT_SOURCE_DIR}/src)
    # A plugin (of a database, an editor, a game) is a shared library, and must be able to contain Keel.
    set_target_properties(keel_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON
                                                  CXX_EXTENSIONS OFF)
    if(KEEL_DEVELOPER)
        target_link_libraries(keel_${name} PRIVATE $<BUILD_INTERFACE:keel_developer>)
        # Half of the time of a build is spent on reading these. Only in our own builds: tests/headers asks the compiler,
        # without this, whether each file includes what it uses.
        target_precompile_headers(keel_${name} PRIVATE <keel/server.hpp>)
    endif()
    set_property(GLOBAL APPEND PROPERTY KEEL_LIBRARIES keel_${name})
endfunction()
