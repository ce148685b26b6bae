# The structs of notes and their readers, from python/vramfit/contract (docs/notes.md). Made while the build is set up, so that
# every compiler command finds them; a change of the contract sets the build up again.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(VRAMFIT_GENERATED "${CMAKE_BINARY_DIR}/generated")
set(generator "${CMAKE_SOURCE_DIR}/tools/generate_contract")
file(GLOB contract CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/python/vramfit/contract/*.py"
     "${CMAKE_SOURCE_DIR}/python/vramfit/contract/notes/*.py")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${contract} "${generator}")
execute_process(COMMAND "${Python3_EXECUTABLE}" "${generator}" "${VRAMFIT_GENERATED}" COMMAND_ERROR_IS_FATAL ANY)
