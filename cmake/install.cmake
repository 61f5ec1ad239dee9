# `cmake --install`, and find_package(lazuli) for those who use what it installs.

include(CMakePackageConfigHelpers)

get_property(layers GLOBAL PROPERTY LAZULI_LAYERS)
list(TRANSFORM layers PREPEND lazuli_ OUTPUT_VARIABLE layer_targets)
install(TARGETS lazuli ${layer_targets} EXPORT lazuliTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS lazuli-program lazuli-opt RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lazuli DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT lazuliTargets NAMESPACE lazuli:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lazuli)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lazuliConfig.cmake.in ${PROJECT_BINARY_DIR}/lazuliConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lazuli)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lazuliConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lazuliConfig.cmake ${PROJECT_BINARY_DIR}/lazuliConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/module_place.cpp
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lazuli)
