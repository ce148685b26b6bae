# Boost.Beast is header-only; its templates bring their own warnings.
vramfit_room(http
  SOURCES page_server.cc
  TESTS page_server_test.cc
  ROOMS base
  LIBS Threads::Threads)
target_compile_definitions(vramfit_http PRIVATE BOOST_ASIO_NO_DEPRECATED)
