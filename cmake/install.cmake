# Installs the stage as it is: into the package `vramfit_home` of a wheel, or under a prefix.
if(SKBUILD)
  set(vramfit_home vramfit_home)
else()
  set(vramfit_home .)
endif()
install(DIRECTORY "${VRAMFIT_STAGE}/bin" "${VRAMFIT_STAGE}/lib" "${VRAMFIT_STAGE}/share"
  DESTINATION "${vramfit_home}" USE_SOURCE_PERMISSIONS)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/python/vramfit" DESTINATION "${vramfit_home}/python"
  PATTERN __pycache__ EXCLUDE)
