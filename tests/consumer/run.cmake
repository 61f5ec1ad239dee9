# Installs the build into a folder, builds the consumer against it, and runs it.
set(prefix ${BUILD_DIR}/consumer/prefix)
file(REMOVE_RECURSE ${BUILD_DIR}/consumer)
foreach(command
    "${CMAKE_COMMAND};--install;${BUILD_DIR};--prefix;${prefix}"
    "${CMAKE_COMMAND};-G;Ninja;-S;${SOURCE_DIR};-B;${BUILD_DIR}/consumer/build;-DCMAKE_PREFIX_PATH=${prefix};-DCMAKE_BUILD_TYPE=Release"
    "${CMAKE_COMMAND};--build;${BUILD_DIR}/consumer/build"
    "${BUILD_DIR}/consumer/build/consumer")
  execute_process(COMMAND ${command} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${command}")
  endif()
endforeach()
