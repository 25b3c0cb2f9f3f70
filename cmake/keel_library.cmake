# keel_library(<name> FOLDERS <folder under src/>... [FILES <file under src/>...]) makes the static library keel_<name>,
# known as keel::<name>.
function(keel_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS;FILES")
    list(TRANSFORM arg_FOLDERS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/\\1/*.cpp" OUTPUT_VARIABLE patterns)
    file(GLOB sources CONFIGURE_DEPENDS ${patterns})
    list(TRANSFORM arg_FILES PREPEND "${PROJECT_SOURCE_DIR}/src/")
    list(APPEND sources ${arg_FILES})

    add_library(keel_${name} STATIC ${sources})
    add_library(keel::${name} ALIAS keel_${name})
    target_compile_features(keel_${name} PUBLIC cxx_std_20)
    target_include_directories(
        keel_${name}
        PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
        PRIVATE ${PROJECT_SOURCE_DIR}/src)
    # Boost is ours alone: an installed Keel must not ask its user for it.
    target_link_libraries(keel_${name} PRIVATE $<BUILD_INTERFACE:Boost::headers>)
    # Position-independent, so that a plugin (a shared library) can contain Keel.
    set_target_properties(keel_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON
                                                  CXX_EXTENSIONS OFF)
    if(KEEL_DEVELOPER)
        target_link_libraries(keel_${name} PRIVATE $<BUILD_INTERFACE:keel_developer>)
        # Parsing these headers takes half of the build time. Only in our own builds: tests/headers checks without them
        # that each file includes what it uses.
        target_precompile_headers(keel_${name} PRIVATE <keel/server.hpp>)
    endif()
    set_property(GLOBAL APPEND PROPERTY KEEL_LIBRARIES keel_${name})
endfunction()
