# Looks for what must be installed before the build, all at once, and names the packages: find_package stops at the first.
# Which headers, and what distributions call them: tools/packages.
include(CheckIncludeFileCXX)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tools/packages")
file(STRINGS "${CMAKE_SOURCE_DIR}/tools/packages" lines REGEX "^build +header ")
set(missing_for_apt)
set(missing_for_dnf)
foreach(line IN LISTS lines)
  separate_arguments(words UNIX_COMMAND "${line}")
  list(GET words 2 header)
  list(GET words 3 for_apt)
  list(GET words 4 for_dnf)
  string(MAKE_C_IDENTIFIER "VRAMFIT_FOUND_${header}" found)
  check_include_file_cxx("${header}" ${found})
  if(NOT ${found})
    unset(${found} CACHE)  # so that the next configuration looks again
    string(REGEX REPLACE "^.*[|]" "" for_apt "${for_apt}")  # the last is the one that most have
    list(APPEND missing_for_apt ${for_apt})
    list(APPEND missing_for_dnf ${for_dnf})
  endif()
endforeach()
if(missing_for_apt)
  list(JOIN missing_for_apt " " missing_for_apt)
  list(JOIN missing_for_dnf " " missing_for_dnf)
  message(FATAL_ERROR "vramfit needs development packages that are not here:\n"
    "  Debian, Ubuntu: sudo apt-get install ${missing_for_apt}\n"
    "  Fedora:         sudo dnf install ${missing_for_dnf}")
endif()
