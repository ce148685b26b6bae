# Boost.Beast is header-only; its templates bring their own warnings.
vramfit_room(http
  SOURCES history_site.cc page_guard.cc page_server.cc
  TESTS history_site_test.cc page_guard_test.cc page_server_test.cc
  ROOMS history report views
  LIBS Threads::Threads)
target_compile_definitions(vramfit_http PRIVATE BOOST_ASIO_NO_DEPRECATED)
