# keel_library(<name> FOLDERS <folder under src/>... [FILES <file under src/>...]) makes the library keel_<name>, known as
# keel::<name>.
#
# Static by default. With BUILD_SHARED_LIBS=ON there is one shared library for all of them (keel_whole_library below), since
# they use each other's internals, which a shared library does not export.
function(keel_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS;FILES")
    list(TRANSFORM arg_FOLDERS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/\\1/*.cpp" OUTPUT_VARIABLE patterns)
    file(GLOB sources CONFIGURE_DEPENDS ${patterns})
    list(TRANSFORM arg_FILES PREPEND "${PROJECT_SOURCE_DIR}/src/")
    list(APPEND sources ${arg_FILES})

    if(BUILD_SHARED_LIBS)
        add_library(keel_${name} OBJECT ${sources})
        target_compile_definitions(keel_${name} PUBLIC KEEL_SHARED PRIVATE KEEL_BUILDING)
    else()
        add_library(keel_${name} STATIC ${sources})
        add_library(keel::${name} ALIAS keel_${name})
    endif()
    keel_public_properties(keel_${name})
    target_include_directories(keel_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    # A plugin (of a database, an editor, a game) is a shared library, and must be able to contain Keel without exporting its
    # symbols.
    set_target_properties(
        keel_${name}
        PROPERTIES EXPORT_NAME ${name}
                   POSITION_INDEPENDENT_CODE ON
                   CXX_EXTENSIONS OFF
                   CXX_VISIBILITY_PRESET hidden
                   VISIBILITY_INLINES_HIDDEN ON)
    # So that a program that links with --gc-sections contains only the functions that it uses.
    target_compile_options(keel_${name} PRIVATE -ffunction-sections -fdata-sections)
    if(KEEL_DEVELOPER)
        target_link_libraries(keel_${name} PRIVATE $<BUILD_INTERFACE:keel_developer>)
        # Parsing these headers takes half of the build time. Only in our own builds: tests/headers checks without them
        # that each file includes what it uses.
        target_precompile_headers(keel_${name} PRIVATE <keel/server.hpp>)
    endif()
    set_property(GLOBAL APPEND PROPERTY KEEL_LIBRARIES keel_${name})
endfunction()

# What every user of a library needs as well.
function(keel_public_properties target)
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# keel_whole_library() makes keel_keel, known as keel::keel: everything under one name.
function(keel_whole_library)
    get_property(libraries GLOBAL PROPERTY KEEL_LIBRARIES)
    if(NOT BUILD_SHARED_LIBS)
        add_library(keel_keel INTERFACE)
        target_link_libraries(keel_keel INTERFACE ${libraries})
    else()
        add_library(keel_keel SHARED)
        keel_public_properties(keel_keel)
        target_compile_definitions(keel_keel INTERFACE KEEL_SHARED)
        target_link_libraries(keel_keel PUBLIC Threads::Threads PRIVATE ${libraries})
        # Before 1.0 a minor version may break things.
        set_target_properties(
            keel_keel
            PROPERTIES OUTPUT_NAME keel
                       VERSION ${PROJECT_VERSION}
                       SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                       CXX_VISIBILITY_PRESET hidden
                       VISIBILITY_INLINES_HIDDEN ON)
        foreach(library IN LISTS libraries)
            string(REPLACE keel_ keel:: alias ${library})
            add_library(${alias} ALIAS keel_keel)
        endforeach()
    endif()
    set_target_properties(keel_keel PROPERTIES EXPORT_NAME keel)
    add_library(keel::keel ALIAS keel_keel)
endfunction()
