// The history's tables, as the list of steps that led to them. A file says which steps it has had (user_version),
// and that it is ours (application_id).
#ifndef VRAMFIT_STORE_MIGRATIONS_H
#define VRAMFIT_STORE_MIGRATIONS_H

#include "base/error.h"
#include "store/sqlite.h"

namespace vramfit::store {

// What this program writes: the number of steps there are.
int newest_schema();

// A database is ours that has nothing in it at all, or our mark: any other is another program's, and its user named the
// wrong file. Reads only.
base::Result<void> refuse_strangers(Connection& connection);

// Brings a file up to `wanted` (tests stop earlier), each step in a transaction of its own: a crash between two steps
// leaves a file that the next open goes on with. A file from a newer vramfit is refused and left alone.
base::Result<void> migrate(Connection& connection, int wanted = newest_schema());

}  // namespace vramfit::store

#endif
