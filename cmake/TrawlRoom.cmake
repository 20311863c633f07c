# trawl_room(<name> IN <library> SOURCES ... [LIBRARIES ...]): one of the folders of a library. Its
# objects become part of the library's archive, which links its LIBRARIES.
function(trawl_room name)
  cmake_parse_arguments(ARG "" "IN" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE trawl_compile tl::expected ${ARG_LIBRARIES})
  target_sources(${ARG_IN} PRIVATE $<TARGET_OBJECTS:${name}>)
endfunction()
