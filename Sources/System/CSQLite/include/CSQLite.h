#ifndef REEL_CSQLITE_H
#define REEL_CSQLITE_H

#include <sqlite3.h>

/// SQLITE_CONSTRAINT_UNIQUE is a macro that Swift can't read.
static const int reel_sqlite_constraint_unique = SQLITE_CONSTRAINT_UNIQUE;

/// Binds a text, with the macro SQLITE_TRANSIENT: SQLite copies the bytes before this returns.
static inline int reel_sqlite_bind_text(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_text64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// Does the same for bytes. Without an address, SQLite would bind NULL in place of no bytes.
static inline int reel_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}

/// Sets a switch by sqlite3_db_config, which takes a variable number of arguments.
static inline int reel_sqlite_switch(sqlite3 *database, int option, int on) {
  return sqlite3_db_config(database, option, on, (int *)0);
}

/// The name of a VFS that wraps the system's and allocates the memory that processes share before SQLite writes to it.
/// If the disk has no room for a page, the call fails (SQLITE_FULL) instead of the process. NULL if there is no such
/// VFS; then SQLite uses the system's own.
const char *reel_sqlite_vfs(void);

#endif
