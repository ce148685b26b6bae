# Compiles for glibc 2.28, whatever this machine has: docs/decisions/0022-wheels.md. packaging/build_wheel names two folders:
# of commands that stand for the compiler, and of the libraries' headers and archives with nothing else of this machine.
set(tools "$ENV{VRAMFIT_PORTABLE_TOOLS}")
set(libraries "$ENV{VRAMFIT_PORTABLE_LIBRARIES}")
set(CMAKE_C_COMPILER "${tools}/cc")
set(CMAKE_CXX_COMPILER "${tools}/c++")
set(CMAKE_AR "${tools}/ar")
set(CMAKE_RANLIB "${tools}/ranlib")
set(CMAKE_FIND_ROOT_PATH "${libraries}")
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES "${libraries}/include")
# Debug information of the C++ runtime alone is 1.4 MB in each of forty libraries.
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-s")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-s")
set(VRAMFIT_PORTABLE ON)
