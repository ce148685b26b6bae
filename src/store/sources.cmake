# Static where there is one: the program then needs no SQLite on the machine it is installed on.
find_library(SQLite3_LIBRARY NAMES libsqlite3.a sqlite3)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
vramfit_room(store
  SOURCES place.cc migrations.cc process.cc rows.cc sqlite.cc store.cc
  TESTS migrations_test.cc store_test.cc
  ROOMS model
  LIBS SQLite::SQLite3 ZLIB::ZLIB ${CMAKE_DL_LIBS})
