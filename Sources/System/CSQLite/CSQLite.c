#define _GNU_SOURCE
#include "CSQLite.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

// Processes that have a database with a write-ahead log open share the index of the log, a file that each of them maps.
// Writing to a page of it for which the disk has no room kills the process (SIGBUS). SQLite writes a byte into each
// page of a new part, which is not enough if a memory page has several disk blocks (ext4 with blocks of 1 kB). So each
// page is allocated before SQLite writes to it: when a part of the file is mapped, and whenever a lock is taken under
// which it may be written to.
//
// On file systems where every write takes new room (btrfs), a page for which there was room a moment ago may find none.
// There, nothing is begun when little is left.

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

// The size of SQLite's parts of the index (WALINDEX_PGSZ: 4,096 frames of 4 bytes, and their hash table).
enum { PART = 32768 };

static sqlite3_vfs own;
static sqlite3_vfs *base;

// A changed copy of the methods of each kind of file that has shared memory. There are few kinds.
enum { KINDS = 16 };
static struct { const sqlite3_io_methods *real; sqlite3_io_methods changed; } kinds[KINDS];
static atomic_int kind_count;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static const sqlite3_io_methods *real_methods(sqlite3_file *file) {
  int count = kind_count;
  for (int kind = 0; kind < count; kind++)
    if (&kinds[kind].changed == file->pMethods) return kinds[kind].real;
  return NULL;
}

// Databases on file systems where every write takes new room. The same file may be in the list several times.
struct copied {
  sqlite3_file *file;
  const char *name;
  struct copied *next;
};
static struct copied *copied;
static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER;

// The bytes that must stay free there: a hundred times what a transaction changes in the index.
enum { RESERVE = 4 << 20 };

static int takes_new_room(const char *name) {
  struct statfs facts;
  if (statfs(name, &facts) != 0) return 0;
  switch ((uint32_t)facts.f_type) {
    case 0x9123683E: // btrfs
    case 0xCA451A4E: // bcachefs
    case 0x2FC12FC1: // ZFS
      return 1;
    default: return 0;
  }
}

static int is_full(const char *name) {
  struct statfs facts;
  return statfs(name, &facts) == 0 && (uint64_t)facts.f_bavail * (uint64_t)facts.f_bsize < RESERVE;
}

// What was removed becomes free only once the file system has committed the removal. This asks it to, every 2 s at
// most.
static void settle(const char *name) {
  static atomic_llong last = -1000000;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  long long before = last;
  if (now.tv_sec - before < 2 || !atomic_compare_exchange_strong(&last, &before, now.tv_sec)) return;
  const char *end = strrchr(name, '/');
  char folder[4096] = ".";
  if (end && (size_t)(end - name) + 2 <= sizeof folder) {
    memcpy(folder, name, (size_t)(end - name) + 1);
    folder[end - name + 1] = 0;
  }
  int place = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (place < 0) return;
  syncfs(place);
  close(place);
}

static int has_room(sqlite3_file *file) {
  pthread_mutex_lock(&listing);
  struct copied *found = copied;
  while (found && found->file != file) found = found->next;
  // The name stays valid as long as the file is open, which it is here.
  const char *name = found ? found->name : NULL;
  pthread_mutex_unlock(&listing);
  if (!name || !is_full(name)) return 1;
  settle(name);
  return !is_full(name);
}

static int close_file(sqlite3_file *file) {
  int result = real_methods(file)->xClose(file);
  pthread_mutex_lock(&listing);
  for (struct copied **place = &copied; *place; place = &(*place)->next) {
    if ((*place)->file != file) continue;
    struct copied *gone = *place;
    *place = gone->next;
    free(gone);
    break;
  }
  pthread_mutex_unlock(&listing);
  return result;
}

/// Whether that part of the mapping can be written to. A kernel before 5.14 can't be asked; then the answer is yes.
static int is_writable(volatile void *part, size_t size) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t first = (uintptr_t)part & ~(page - 1), end = ((uintptr_t)part + size + page - 1) & ~(page - 1);
  int result;
  do { result = madvise((void *)first, end - first, MADV_POPULATE_WRITE); } while (result != 0 && errno == EINTR);
  return result == 0 || errno != EFAULT;
}

static int map_part(sqlite3_file *file, int number, int size, int extends, void volatile **part) {
  if (extends && !has_room(file)) return SQLITE_FULL;
  int result = real_methods(file)->xShmMap(file, number, size, extends, part);
  if (result != SQLITE_OK || !*part || is_writable(*part, (size_t)size)) return result;
  *part = NULL;
  return SQLITE_FULL;
}

static int lock_parts(sqlite3_file *file, int first, int count, int flags) {
  const sqlite3_io_methods *real = real_methods(file);
  if (flags != (SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE)) return real->xShmLock(file, first, count, flags);
  if (!has_room(file)) return SQLITE_FULL;
  int result = real->xShmLock(file, first, count, flags);
  if (result != SQLITE_OK) return result;
  for (int number = 0;; number++) {
    void volatile *part = NULL;
    if (real->xShmMap(file, number, PART, 0, &part) != SQLITE_OK || !part) return SQLITE_OK;
    if (is_writable(part, PART)) continue;
    real->xShmLock(file, first, count, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
    return SQLITE_FULL;
  }
}

// A process that has a database alone, such as the last to close it, writes to the index without any of these locks.
static int lock_file(sqlite3_file *file, int level) {
  if (level == SQLITE_LOCK_EXCLUSIVE && !has_room(file)) return SQLITE_FULL;
  return real_methods(file)->xLock(file, level);
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
  (void)vfs;
  int result = base->xOpen(base, name, file, flags, out);
  if (result != SQLITE_OK || !file->pMethods || file->pMethods->iVersion < 2 || !file->pMethods->xShmMap) return result;
  pthread_mutex_lock(&adding);
  int kind = 0;
  while (kind < kind_count && kinds[kind].real != file->pMethods) kind++;
  if (kind == kind_count && kind < KINDS) {
    kinds[kind].real = file->pMethods;
    kinds[kind].changed = *file->pMethods;
    kinds[kind].changed.xShmMap = map_part;
    kinds[kind].changed.xShmLock = lock_parts;
    kinds[kind].changed.xLock = lock_file;
    kinds[kind].changed.xClose = close_file;
    kind_count = kind + 1;
  }
  pthread_mutex_unlock(&adding);
  if (kind == KINDS) return SQLITE_OK;
  file->pMethods = &kinds[kind].changed;
  if (flags & SQLITE_OPEN_MAIN_DB && name && takes_new_room(name)) {
    struct copied *found = malloc(sizeof *found);
    if (found) {
      pthread_mutex_lock(&listing);
      *found = (struct copied){file, name, copied};
      copied = found;
      pthread_mutex_unlock(&listing);
    }
  }
  return SQLITE_OK;
}

static void make(void) {
  base = sqlite3_vfs_find(NULL);
  if (!base) return;
  own = *base;
  own.zName = "reel";
  own.xOpen = open_file;
  if (sqlite3_vfs_register(&own, 0) != SQLITE_OK) base = NULL;
}

const char *reel_sqlite_vfs(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make);
  return base ? own.zName : NULL;
}
