// A VFS on top of the system's, for an unmodified SQLite, that widens the window of the WAL-reset bug. Right after a
// checkpoint has read from the WAL index how long the log is, SQLite tells the VFS to discard its mapped pages
// (`xUnfetch(file, 0, 0)`), if the log is not as the connection last knew it. Here that call takes longer.
//
// It is linked into a test, or preloaded into a program (LD_PRELOAD); a program without SQLite is left alone.
//   REEL_PAUSE_CHECKPOINTS=MICROSECONDS   the longest pause, each of random length, in checkpoints with nothing to do
//   REEL_PAUSE_SYNCS=MICROSECONDS         how much longer each sync takes, as on a slow disk
#include "include/pausing_vfs.h"
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma weak sqlite3_vfs_find
#pragma weak sqlite3_vfs_register

static sqlite3_vfs own;
static sqlite3_vfs *system_vfs;
static unsigned longest, syncing;
static atomic_uint drawn;
static atomic_long paused;
static void (*_Atomic pause_call)(void *);
static void *_Atomic pause_context;

// A copy of the methods of each kind of file. The methods called here are the same in all of them. The first kind's are
// used, because a VFS on top may have replaced a file's methods with its own.
enum { KINDS = 16 };
static struct { const sqlite3_io_methods *real; sqlite3_io_methods changed; } kinds[KINDS];
static atomic_int kind_count;
static atomic_flag adding = ATOMIC_FLAG_INIT;

static unsigned draw(unsigned limit) {
  // The 32-bit variant of splitmix.
  unsigned value = atomic_fetch_add(&drawn, 0x9E3779B9u);
  value = (value ^ (value >> 16)) * 0x21F0AAADu;
  value = (value ^ (value >> 15)) * 0x735A2D97u;
  return (value ^ (value >> 15)) % limit;
}

// Whether the whole log is in the database already (mxFrame and nBackfill, https://www.sqlite.org/walformat.html). Only
// then does the next commit reset it. Delaying any other checkpoint would only keep the log from getting there.
static int is_home(sqlite3_file *file) {
  volatile void *index = NULL;
  if (kinds[0].real->xShmMap(file, 0, 32768, 0, &index) != SQLITE_OK || !index) return 0;
  const volatile unsigned *words = index;
  return words[4] == words[24];
}

static int unfetch(sqlite3_file *file, sqlite3_int64 offset, void *page) {
  if (!page && offset == 0) {
    void (*call)(void *) = pause_call;
    if (call) call(pause_context);
    if (longest && is_home(file)) {
      paused++;
      usleep(draw(longest));
    }
  }
  return kinds[0].real->xUnfetch(file, offset, page);
}

static int sync_file(sqlite3_file *file, int flags) {
  if (syncing) usleep(syncing);
  return kinds[0].real->xSync(file, flags);
}

static int open_file(
  sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
  (void)vfs;
  int result = system_vfs->xOpen(system_vfs, name, file, flags, out);
  if (result != SQLITE_OK || !file->pMethods || file->pMethods->iVersion < 3) return result;
  while (atomic_flag_test_and_set(&adding)) {}
  int kind = 0;
  while (kind < kind_count && kinds[kind].real != file->pMethods) kind++;
  if (kind == KINDS) abort();
  if (kind == kind_count) {
    kinds[kind].real = file->pMethods;
    kinds[kind].changed = *file->pMethods;
    kinds[kind].changed.xUnfetch = unfetch;
    kinds[kind].changed.xSync = sync_file;
    kind_count++;
  }
  atomic_flag_clear(&adding);
  file->pMethods = &kinds[kind].changed;
  return SQLITE_OK;
}

static unsigned setting(const char *name) {
  const char *text = getenv(name);
  return text ? (unsigned)atoi(text) : 0;
}

static void begin(void) {
  if (system_vfs || !sqlite3_vfs_find || !sqlite3_vfs_register) return;
  system_vfs = sqlite3_vfs_find(NULL);
  if (!system_vfs) return;
  own = *system_vfs;
  own.zName = "reel-pausing";
  own.xOpen = open_file;
  atomic_store(&drawn, (unsigned)getpid() * 2654435761u + setting("REEL_SEED"));
  sqlite3_vfs_register(&own, 1);
}

// Runs before the program can open a database.
__attribute__((constructor)) static void preloaded(void) {
  longest = setting("REEL_PAUSE_CHECKPOINTS");
  syncing = setting("REEL_PAUSE_SYNCS");
  begin();
}

void reel_when_checkpointing(void (*pause)(void *), void *context) {
  begin();
  pause_context = context;
  pause_call = pause;
}

long reel_checkpoints_paused(void) { return paused; }
