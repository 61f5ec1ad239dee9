# lazuli_layer(name): the static library lazuli_<name> from src/<name>/, linking the layers declared before it.
#
# Some layers fill a table of a layer above them through one function with C linkage that the upper layer only knows as a weak
# symbol. --undefined makes the linker take that function out of the archive.

set(LAZULI_HOOK_ops lazuli_install_ops)
set(LAZULI_HOOK_runtime lazuli_engine)
set(LAZULI_HOOK_backend lazuli_install_backends)

function(lazuli_layer name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  add_library(lazuli_${name} STATIC ${sources})
  target_include_directories(
    lazuli_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(lazuli_${name} PRIVATE $<BUILD_INTERFACE:lazuli_options> $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
  target_link_libraries(lazuli_${name} PUBLIC fmt::fmt Threads::Threads)
  get_property(above GLOBAL PROPERTY LAZULI_LAYERS)
  foreach(layer IN LISTS above)
    target_link_libraries(lazuli_${name} PUBLIC lazuli_${layer})
  endforeach()
  if(DEFINED LAZULI_HOOK_${name})
    target_link_options(lazuli_${name} INTERFACE LINKER:--undefined=${LAZULI_HOOK_${name}})
  endif()
  set_property(GLOBAL APPEND PROPERTY LAZULI_LAYERS ${name})
endfunction()
