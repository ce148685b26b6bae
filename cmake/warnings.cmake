# Warnings are errors where somebody has read them: a compiler that is not known here yet has others, true or not, and who
# only installs vramfit from source can do nothing about them.
set(vramfit_werror -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  set(vramfit_werror "")
endif()

# Flags every target of ours gets: vramfit_target(NAME) after add_library / add_executable.
function(vramfit_target name)
  target_link_libraries(${name} PRIVATE vramfit_headers)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic ${vramfit_werror} -Wshadow -Wconversion -Wno-sign-conversion
    # Plain structs with defaults are built with designated initializers; what is left out has its default.
    -Wno-missing-field-initializers
    # g++ 12 sees overlaps in `"text" + std::string` that are not there (GCC bug 105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(VRAMFIT_SANITIZE)
    string(REPLACE ";" "," sanitizers "${VRAMFIT_SANITIZE}")
    # Left out of the undefined: what the address sanitizer reports as well (null), what needs an optimizer (object-size)
    # and what the compiler's own types tell (vptr). They are a quarter of what compiling costs.
    target_compile_options(${name} PRIVATE -fsanitize=${sanitizers} -fno-sanitize=null,object-size,vptr
                                           -fno-omit-frame-pointer -g1)
    if(sanitizers STREQUAL thread)  # it doesn't follow fences: src/isolate has one, for a reader that is another process
      target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
    endif()
    target_link_options(${name} PRIVATE -fsanitize=${sanitizers})
  endif()
endfunction()

# Compiles `count` files of a target at a time where the build is asked to (docs/build.md). What a file keeps to itself in
# an unnamed namespace then needs a name that no other file of the room has there; the compiler says so.
function(vramfit_batches name count)
  if(VRAMFIT_BATCHES)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
    # A batch is no header: no other file sees what is unnamed in it. And what one file has unnamed is not shadowed by a
    # local name in another, though clang takes the batch for one file and says so; clang-tidy looks at each file alone.
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>
                                           $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-shadow>)
  endif()
endfunction()
