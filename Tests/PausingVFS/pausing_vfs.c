// A VFS over the system's own, whose SQLite is unchanged: it widens the window of the WAL-reset bug. SQLite tells the VFS
// (`xUnfetch(file, 0, 0)`) that pages which it has mapped are of no use any more right after a checkpoint has read from the
// index of the log how far the log goes, if that is not what the connection knew before. Here that call takes longer.
//
// Linked into a test, or preloaded into a program (LD_PRELOAD), where one that has no SQLite is left alone:
//   REEL_PAUSE_CHECKPOINTS=MICROSECONDS   the longest pause; each is drawn anew, where a checkpoint has nothing to do
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

// A copy of the methods of each kind of file. What is called here is the same in all; a VFS above may have put a copy of
// its own in the place of these.
enum { KINDS = 16 };
static struct { const sqlite3_io_methods *real; sqlite3_io_methods changed; } kinds[KINDS];
static atomic_int kind_count;
static atomic_flag adding = ATOMIC_FLAG_INIT;

static unsigned draw(unsigned limit) {
  // The splitmix of 32 bits.
  unsigned value = atomic_fetch_add(&drawn, 0x9E3779B9u);
  value = (value ^ (value >> 16)) * 0x21F0AAADu;
  value = (value ^ (value >> 15)) * 0x735A2D97u;
  return (value ^ (value >> 15)) % limit;
}

// Whether all of the log is in the database already (mxFrame and nBackfill, https://www.sqlite.org/walformat.html): only
// then the next commit begins it anew. Any other checkpoint that took long would only keep the log from coming to that.
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

// Before anybody opens a database.
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
