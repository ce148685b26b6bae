# Looks for what must be installed before the build, all at once, and names the packages: find_package stops at the first.
include(CheckIncludeFileCXX)
set(missing_packages)
foreach(pair CLI/CLI.hpp=libcli11-dev fmt/core.h=libfmt-dev nlohmann/json.hpp=nlohmann-json3-dev
        toml++/toml.h=libtomlplusplus-dev zlib.h=zlib1g-dev sqlite3.h=libsqlite3-dev boost/uuid/uuid.hpp=libboost1.81-dev)
  string(REPLACE "=" ";" pair "${pair}")
  list(GET pair 0 header)
  list(GET pair 1 package)
  string(MAKE_C_IDENTIFIER "VRAMFIT_FOUND_${header}" found)
  check_include_file_cxx("${header}" ${found})
  if(NOT ${found})
    unset(${found} CACHE)  # so that the next configuration looks again
    list(APPEND missing_packages ${package})
  endif()
endforeach()
if(missing_packages)
  list(JOIN missing_packages " " missing_packages)
  message(FATAL_ERROR "vramfit needs these development packages (Debian and Ubuntu names):\n"
    "  sudo apt-get install ${missing_packages}")
endif()
