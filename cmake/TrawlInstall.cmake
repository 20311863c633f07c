# Installs the libraries with their public headers, a CMake package and pkg-config files.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TRAWL_LIBRARIES trawl_base trawl_filter trawl_url trawl_parse trawl_frontier)
foreach(library IN LISTS TRAWL_LIBRARIES)
  target_include_directories(${library} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${library} PUBLIC cxx_std_20)
  string(REPLACE trawl_ "" name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
endforeach()

set(TRAWL_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/trawl)
# One export for each library, so that, for example, users of the filters need no database.
foreach(library IN LISTS TRAWL_LIBRARIES)
  get_target_property(name ${library} EXPORT_NAME)
  install(TARGETS ${library} EXPORT trawl_${name}_targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(EXPORT trawl_${name}_targets NAMESPACE trawl:: DESTINATION ${TRAWL_CMAKE_DIR}
    COMPONENT development)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/trawl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development)

# The C interface: the library for programs that run, the link for those that are built.
install(TARGETS trawl_c
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/trawlConfig.cmake.in
  ${PROJECT_BINARY_DIR}/trawlConfig.cmake INSTALL_DESTINATION ${TRAWL_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/trawlConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/trawlConfig.cmake ${PROJECT_BINARY_DIR}/trawlConfigVersion.cmake
  DESTINATION ${TRAWL_CMAKE_DIR} COMPONENT development)

# Relative paths, so that an installed tree can be moved.
file(RELATIVE_PATH TRAWL_PC_TO_PREFIX
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(module trawl trawl-c trawl-filter trawl-parse)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${module}.pc.in ${PROJECT_BINARY_DIR}/${module}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${module}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()
