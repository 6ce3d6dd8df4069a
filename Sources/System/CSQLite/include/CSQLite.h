#ifndef REEL_CSQLITE_H
#define REEL_CSQLITE_H

#include <sqlite3.h>

/// SQLITE_CONSTRAINT_UNIQUE is a macro that Swift can't read.
static const int reel_sqlite_constraint_unique = SQLITE_CONSTRAINT_UNIQUE;

/// SQLITE_TRANSIENT is a macro: SQLite copies the bytes before this returns.
static inline int reel_sqlite_bind_text(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_text64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// The same for bytes. Without an address SQLite would take none for NULL.
static inline int reel_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}

/// sqlite3_db_config takes a variable number of arguments: sets one of its switches.
static inline int reel_sqlite_switch(sqlite3 *database, int option, int on) {
  return sqlite3_db_config(database, option, on, (int *)0);
}

/// The name of a VFS that is the system's, and makes sure of the memory that processes share before SQLite writes to it: where
/// the disk has no room for a page of it, the call fails (SQLITE_FULL) instead of the process. NULL where there is none; then
/// the system's own does.
const char *reel_sqlite_vfs(void);

#endif
