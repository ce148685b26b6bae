# Flags every target of ours gets: vramfit_target(NAME) after add_library / add_executable.
function(vramfit_target name)
  target_link_libraries(${name} PRIVATE vramfit_headers)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wno-sign-conversion
    # Plain structs with defaults are built with designated initializers; what is left out has its default.
    -Wno-missing-field-initializers
    # g++ 12 sees overlaps in `"text" + std::string` that are not there (GCC bug 105651).
    -Wno-restrict)
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(VRAMFIT_SANITIZE)
    string(REPLACE ";" "," sanitizers "${VRAMFIT_SANITIZE}")
    target_compile_options(${name} PRIVATE -fsanitize=${sanitizers} -fno-omit-frame-pointer)
    target_link_options(${name} PRIVATE -fsanitize=${sanitizers})
  endif()
endfunction()

