# Install: libraries, headers, the command, a CMake package `keel` and a pkg-config file.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/keel)
if(BUILD_SHARED_LIBS)
    set(libraries keel)
    install(TARGETS keel_keel EXPORT keel)
else()
    get_property(libraries GLOBAL PROPERTY KEEL_LIBRARIES)
    list(REMOVE_ITEM libraries keel_asio)
    install(TARGETS ${libraries} keel_keel EXPORT keel)
endif()
install(DIRECTORY include/keel TYPE INCLUDE PATTERN asio.hpp EXCLUDE)
install(EXPORT keel NAMESPACE keel:: FILE keelTargets.cmake DESTINATION ${package_dir})
if(TARGET keel_asio)
    # A file of its own: only who asks for the component asio needs Boost.
    install(TARGETS keel_asio EXPORT keel_asio)
    install(FILES include/keel/asio.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/keel)
    install(EXPORT keel_asio NAMESPACE keel:: FILE keelAsioTargets.cmake DESTINATION ${package_dir})
endif()
if(TARGET keel_command)
    if(BUILD_SHARED_LIBS AND NOT DEFINED CMAKE_INSTALL_RPATH)
        file(RELATIVE_PATH lib_from_bin /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
        set_target_properties(keel_command PROPERTIES INSTALL_RPATH $ORIGIN/${lib_from_bin})
    endif()
    install(TARGETS keel_command)
endif()

configure_package_config_file(cmake/keelConfig.cmake.in ${PROJECT_BINARY_DIR}/keelConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break compatibility.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/keelConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/keelConfig.cmake ${PROJECT_BINARY_DIR}/keelConfigVersion.cmake
        DESTINATION ${package_dir})

# The prefix is relative to the file, so that an installed tree can be moved.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_pkgconfig /${pkgconfig_dir} /)
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig "${prefix_from_pkgconfig}")
# Static libraries in link order: a library precedes those that it uses.
list(REVERSE libraries)
list(TRANSFORM libraries PREPEND "-l" OUTPUT_VARIABLE library_flags)
list(JOIN library_flags " " library_flags)
# A shared library brings what it uses itself.
if(BUILD_SHARED_LIBS)
    set(pkgconfig_requires Requires.private)
    set(pkgconfig_cflags " -DKEEL_SHARED")
else()
    set(pkgconfig_requires Requires)
    set(pkgconfig_cflags "")
endif()
configure_file(cmake/keel.pc.in ${PROJECT_BINARY_DIR}/keel.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/keel.pc DESTINATION ${pkgconfig_dir})
if(TARGET keel_asio)
    configure_file(cmake/keel-asio.pc.in ${PROJECT_BINARY_DIR}/keel-asio.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/keel-asio.pc DESTINATION ${pkgconfig_dir})
endif()
