// The tests preload this (LD_PRELOAD) to make a system call of `reel` fail, to record what it does to its files, or to
// shift its clock. It acts only in the program named `reel`, never in the worker that it starts.
//
//   REEL_SHIM_ROOT=FOLDER        only calls on files in this folder count; `open` counts everywhere
//   REEL_SHIM_FAULT=CALL:N:WHAT  the Nth CALL of the process (all threads) fails with the errno WHAT; `short` does
//                                half of it, `kill` kills the process before it; with N+, every call from the Nth on
//   REEL_SHIM_COUNTS=FILE        at exit, gets a line "CALL COUNT" for each call, and "fired 1" if the fault occurred
//   REEL_SHIM_RECORD=FILE        gets every change to the files in the folder, in order, and what was written to
//                                standard output (format: Tests/ReelEndToEndTests/Support/DiskRecord.swift)
//   REEL_SHIM_BOOT=FILE          is read instead of the kernel's boot id, as after another boot of the same machine
//   REEL_SHIM_CLOCK=S[@N]        the wall clock is wrong by S seconds, from its Nth reading on
//   REEL_SHIM_FLOCK=unseen       only programs with this setting see each other's flock(2) on files, as if on another
//                                kernel
//   REEL_SHIM_FILE_SYSTEM=TYPE   the type that statfs(2) returns for the file system of the folder
//   REEL_SHIM_OPENAT2=none       openat2(2) fails with ENOSYS, as on an older kernel
//   REEL_SHIM_REFUSED=CALL       pidfd_open(2) or memfd_create(2) fails with ENOSYS, as on an older kernel or under a
//                                filter
//   REEL_SHIM_RENAMEAT2=none     the file system of the folder does not support renameat2(2) with flags
//   REEL_SHIM_MODES=MODE         the file system of the folder keeps no permissions: every mode includes these bits
//                                (octal), and chmod fails with EPERM
//   REEL_SHIM_DISK=FOLDER        this folder, inside the root, is another file system: renames and links between the
//                                two fail with EXDEV
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum call {
  CALL_open, CALL_read, CALL_write, CALL_fsync, CALL_rename, CALL_link, CALL_unlink,
  CALL_mkdir, CALL_ftruncate, CALL_flock, CALL_fcntl, CALL_mmap, CALL_spawn, CALLS
};
static const char *const call_names[CALLS] = {
  "open", "read", "write", "fsync", "rename", "link", "unlink",
  "mkdir", "ftruncate", "flock", "fcntl", "mmap", "spawn",
};

static int active;
static char root[4096];
static size_t root_length;
static enum call fault_call = CALLS;
static long fault_at;
static int fault_error, fault_short, fault_kill, fault_on;
static atomic_long counts[CALLS];
static atomic_int fired;
static const char *counts_path, *boot_path;
static int record = -1;
static pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER;
static long long clock_offset;
static long clock_from;
static atomic_long clock_readings;
static int flock_is_unseen, rename_replaces;
static mode_t all_modes;
static const char *file_system, *disk;

// Whether a descriptor is of a file in the folder.
#define DESCRIPTORS 4096
static atomic_char inside[DESCRIPTORS];

static void note(const char *format, ...);

static void *next(const char *name) {
  return dlsym(RTLD_NEXT, name);
}
#define NEXT(name)                                 \
  static __typeof__(&name) real;                   \
  if (!real) real = (__typeof__(&name))next(#name)

__attribute__((constructor)) static void begin(void) {
  if (strcmp(program_invocation_short_name, "reel") != 0) return;
  const char *folder = getenv("REEL_SHIM_ROOT");
  if (!folder || strlen(folder) >= sizeof root) return;
  strcpy(root, folder);
  root_length = strlen(root);
  const char *fault = getenv("REEL_SHIM_FAULT");
  if (fault) {
    char name[64], what[64];
    if (sscanf(fault, "%63[^:]:%ld%*[:+]%63s", name, &fault_at, what) == 3) {
      for (int call = 0; call < CALLS; call++)
        if (strcmp(name, call_names[call]) == 0) fault_call = call;
      fault_on = strstr(fault, "+") != NULL;
      const char *last = strrchr(fault, ':') + 1;
      fault_short = strcmp(last, "short") == 0;
      fault_kill = strcmp(last, "kill") == 0;
      fault_error = atoi(last);
    }
  }
  counts_path = getenv("REEL_SHIM_COUNTS");
  boot_path = getenv("REEL_SHIM_BOOT");
  flock_is_unseen = getenv("REEL_SHIM_FLOCK") != NULL;
  rename_replaces = getenv("REEL_SHIM_RENAMEAT2") != NULL;
  const char *modes = getenv("REEL_SHIM_MODES");
  if (modes) all_modes = (mode_t)strtol(modes, NULL, 8);
  file_system = getenv("REEL_SHIM_FILE_SYSTEM");
  disk = getenv("REEL_SHIM_DISK");
  const char *shift = getenv("REEL_SHIM_CLOCK");
  if (shift) sscanf(shift, "%lld@%ld", &clock_offset, &clock_from);
  const char *log = getenv("REEL_SHIM_RECORD");
  // A high descriptor number, so that the program's own numbers do not change.
  if (log) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    record = (int)syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, 900);
    syscall(SYS_close, file);
  }
  active = 1;
  note("B\n");
}

__attribute__((destructor)) static void end(void) {
  if (!active || !counts_path) return;
  char text[1024];
  int length = 0;
  for (int call = 0; call < CALLS; call++)
    length += snprintf(text + length, sizeof text - length, "%s %ld\n", call_names[call], counts[call]);
  length += snprintf(text + length, sizeof text - length, "fired %d\n", fired);
  int file = (int)syscall(SYS_openat, AT_FDCWD, counts_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  syscall(SYS_write, file, text, length);
  syscall(SYS_close, file);
}

// MARK: Faults

// Returns 0 to go ahead, 1 to fail (errno is set), or 2 to do a part of the call.
static int fault(enum call call) {
  if (!active) return 0;
  long number = atomic_fetch_add(&counts[call], 1) + 1;
  if (call != fault_call || (fault_on ? number < fault_at : number != fault_at)) return 0;
  fired = 1;
  if (fault_kill) kill(getpid(), SIGKILL);
  if (fault_short) return 2;
  errno = fault_error;
  return 1;
}

static int is_inside(int descriptor) {
  return active && descriptor >= 0 && descriptor < DESCRIPTORS && inside[descriptor];
}

static int is_beneath(const char *path) {
  return strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || path[root_length] == 0);
}

static int crosses_disks(const char *old, const char *new) {
  if (!disk) return 0;
  size_t length = strlen(disk);
  if ((strncmp(old, disk, length) == 0) == (strncmp(new, disk, length) == 0)) return 0;
  errno = EXDEV;
  return 1;
}

static void absolute(int folder, const char *path, char *result, size_t size) {
  if (path[0] == '/') {
    snprintf(result, size, "%s", path);
    return;
  }
  char link[64], base[4096];
  if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
  else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, base, sizeof base - 1);
  base[length < 0 ? 0 : length] = 0;
  snprintf(result, size, "%s/%s", base, path);
}

// MARK: The record

static void lock(void) { if (record >= 0) pthread_mutex_lock(&recording); }
static void unlock(void) {
  int saved = errno;
  if (record >= 0) pthread_mutex_unlock(&recording);
  errno = saved;
}

static void put(const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t written = syscall(SYS_write, record, bytes, length);
    if (written <= 0) abort();
    bytes += written;
    length -= (size_t)written;
  }
}

static void note(const char *format, ...) {
  if (record < 0) return;
  char line[9000];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  put(line, (size_t)length);
}

static void note_bytes(int descriptor, long long offset, const void *bytes, size_t length) {
  if (record < 0) return;
  note("W %d %lld %zu\n", descriptor, offset, length);
  put(bytes, length);
}

// MARK: Opening and closing

static int opened(int result, int folder, const char *path, int flags, int was_there) {
  if (!active || result < 0 || result >= DESCRIPTORS) return result;
  int saved = errno;
  char full[8300];
  absolute(folder, path, full, sizeof full);
  inside[result] = is_beneath(full);
  if (inside[result])
    note("O %d %d %d %s\n", result, (flags & O_CREAT) && !was_there, (flags & O_TRUNC) != 0, full);
  errno = saved;
  return result;
}

static int was_there(int folder, const char *path) {
  if (record < 0) return 0;
  struct stat facts;
  return syscall(SYS_newfstatat, folder, path, &facts, AT_SYMLINK_NOFOLLOW) == 0;
}

// On a busy machine, libdispatch reads the state of each of its threads from /proc once a second, and crashes the
// process with an illegal instruction if it can't (_dispatch_workq_count_runnable_workers). Such a fault would not test
// Reel.
static int is_of_a_thread(const char *path) {
  int tid, end = 0;
  return sscanf(path, "/proc/%d/stat%n", &tid, &end) == 1 && end > 0 && path[end] == 0;
}

// Succeeds even if there is no descriptor left.
static int open_of_a_thread(const char *path, int flags) {
  struct rlimit limit, more;
  int result = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
  if (result >= 0 || errno != EMFILE || getrlimit(RLIMIT_NOFILE, &limit) != 0) return result;
  more = limit;
  more.rlim_cur += 8;
  setrlimit(RLIMIT_NOFILE, &more);
  result = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
  setrlimit(RLIMIT_NOFILE, &limit);
  return result;
}

// A bare system may have no machine id, but the tests simulate another boot of a machine that has one.
static int is_of_no_machine(const char *path) {
  struct stat facts;
  return strcmp(path, "/etc/machine-id") == 0 && (stat(path, &facts) != 0 || facts.st_size == 0);
}

static int open_machine(void) {
  static const char id[] = "0123456789abcdef0123456789abcdef\n";
  int file = memfd_create("machine-id", MFD_CLOEXEC);
  if (file >= 0) syscall(SYS_pwrite64, file, id, sizeof id - 1, 0L);
  return file;
}

static int do_open(int folder, const char *path, int flags, mode_t mode) {
  if (active && is_of_a_thread(path)) return open_of_a_thread(path, flags);
  if (fault(CALL_open)) return -1;
  if (active && boot_path && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) path = boot_path;
  if (active && is_of_no_machine(path)) return open_machine();
  lock();
  int there = was_there(folder, path);
  int result = (int)syscall(SYS_openat, folder, path, flags, mode);
  result = opened(result, folder, path, flags, there);
  unlock();
  return result;
}

#define OPEN_MODE(flags)                          \
  mode_t mode = 0;                                \
  if ((flags) & (O_CREAT | O_TMPFILE)) {          \
    va_list arguments;                            \
    va_start(arguments, flags);                   \
    mode = va_arg(arguments, mode_t);             \
    va_end(arguments);                            \
  }
int open(const char *path, int flags, ...) { OPEN_MODE(flags) return do_open(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { OPEN_MODE(flags) return do_open(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) {
  OPEN_MODE(flags) return do_open(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
  OPEN_MODE(flags) return do_open(folder, path, flags, mode);
}

static int refuses(const char *call) {
  const char *refused = active ? getenv("REEL_SHIM_REFUSED") : NULL;
  if (!refused || strcmp(refused, call) != 0) return 0;
  errno = ENOSYS;
  return 1;
}

int memfd_create(const char *name, unsigned flags) {
  NEXT(memfd_create);
  return refuses("memfd_create") ? -1 : real(name, flags);
}

// openat2 and pidfd_open have no wrappers in libc.
long syscall(long number, ...) {
  static __typeof__(&syscall) real;
  if (!real) real = (__typeof__(&syscall))next("syscall");
  va_list list;
  va_start(list, number);
  long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long),
       e = va_arg(list, long), f = va_arg(list, long);
  va_end(list);
  if (number == SYS_pidfd_open && refuses("pidfd_open")) return -1;
  if (number == SYS_openat2 && active) {
    if (getenv("REEL_SHIM_OPENAT2")) {
      errno = ENOSYS;
      return -1;
    }
    if (fault(CALL_open)) return -1;
    lock();
    long result = opened((int)real(number, a, b, c, d, e, f), (int)a, (const char *)b, 0, 1);
    unlock();
    return result;
  }
  return real(number, a, b, c, d, e, f);
}

int close(int descriptor) {
  NEXT(close);
  if (!is_inside(descriptor)) return real(descriptor);
  lock();
  inside[descriptor] = 0;
  note("C %d\n", descriptor);
  int result = real(descriptor);
  unlock();
  return result;
}

// MARK: Bytes

static int announces(int descriptor) { return active && record >= 0 && descriptor == STDOUT_FILENO; }

ssize_t write(int descriptor, const void *bytes, size_t count) {
  NEXT(write);
  if (announces(descriptor)) {
    lock();
    ssize_t result = real(descriptor, bytes, count);
    if (result > 0) {
      note("P %zd\n", result);
      put(bytes, (size_t)result);
    }
    unlock();
    return result;
  }
  if (!is_inside(descriptor)) return real(descriptor, bytes, count);
  int what = fault(CALL_write);
  if (what == 1) return -1;
  if (what == 2 && count > 1) count /= 2;
  lock();
  long long at = lseek(descriptor, 0, SEEK_CUR);
  ssize_t result = real(descriptor, bytes, count);
  if (result > 0) note_bytes(descriptor, at, bytes, (size_t)result);
  unlock();
  return result;
}

static ssize_t do_pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  static __typeof__(&pwrite64) real;
  if (!real) real = (__typeof__(&pwrite64))next("pwrite64");
  if (!is_inside(descriptor)) return real(descriptor, bytes, count, offset);
  int what = fault(CALL_write);
  if (what == 1) return -1;
  if (what == 2 && count > 1) count /= 2;
  lock();
  ssize_t result = real(descriptor, bytes, count, offset);
  if (result > 0) note_bytes(descriptor, offset, bytes, (size_t)result);
  unlock();
  return result;
}
ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  return do_pwrite(descriptor, bytes, count, offset);
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  return do_pwrite(descriptor, bytes, count, offset);
}

ssize_t read(int descriptor, void *bytes, size_t count) {
  NEXT(read);
  if (is_inside(descriptor)) {
    int what = fault(CALL_read);
    if (what == 1) return -1;
    if (what == 2 && count > 1) count /= 2;
  }
  return real(descriptor, bytes, count);
}
static ssize_t do_pread(int descriptor, void *bytes, size_t count, off_t offset) {
  static __typeof__(&pread64) real;
  if (!real) real = (__typeof__(&pread64))next("pread64");
  if (is_inside(descriptor)) {
    int what = fault(CALL_read);
    if (what == 1) return -1;
    if (what == 2 && count > 1) count /= 2;
  }
  return real(descriptor, bytes, count, offset);
}
ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
  return do_pread(descriptor, bytes, count, offset);
}
ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t offset) {
  return do_pread(descriptor, bytes, count, offset);
}

static int do_ftruncate(int descriptor, off_t size) {
  static __typeof__(&ftruncate64) real;
  if (!real) real = (__typeof__(&ftruncate64))next("ftruncate64");
  if (!is_inside(descriptor)) return real(descriptor, size);
  if (fault(CALL_ftruncate)) return -1;
  lock();
  int result = real(descriptor, size);
  if (result == 0) note("T %d %lld\n", descriptor, (long long)size);
  unlock();
  return result;
}
int ftruncate(int descriptor, off_t size) { return do_ftruncate(descriptor, size); }
int ftruncate64(int descriptor, off64_t size) { return do_ftruncate(descriptor, size); }

// MARK: Syncing. "F" records a failed sync, whose data counts as lost.

static int synced(int descriptor, int (*real)(int)) {
  if (!is_inside(descriptor)) return real(descriptor);
  lock();
  int failed = fault(CALL_fsync);
  int result = failed ? -1 : real(descriptor);
  note("%s %d\n", result == 0 ? "S" : "F", descriptor);
  if (failed) errno = fault_error;
  unlock();
  return result;
}
// Syncs the whole file system.
int syncfs(int descriptor) {
  NEXT(syncfs);
  if (!is_inside(descriptor)) return real(descriptor);
  if (fault(CALL_fsync)) return -1;
  lock();
  int result = real(descriptor);
  if (result == 0) note("Y\n");
  unlock();
  return result;
}
int fsync(int descriptor) { NEXT(fsync); return synced(descriptor, real); }
int fdatasync(int descriptor) { NEXT(fdatasync); return synced(descriptor, real); }

// MARK: Names

static int renamed(int from, const char *old, int to, const char *new, unsigned flags) {
  char source[8300], target[8300];
  if (!active) return (int)syscall(SYS_renameat2, from, old, to, new, flags);
  absolute(from, old, source, sizeof source);
  absolute(to, new, target, sizeof target);
  if (!is_beneath(target)) return (int)syscall(SYS_renameat2, from, old, to, new, flags);
  if (crosses_disks(source, target)) return -1;
  if (flags && rename_replaces) {
    errno = EINVAL;
    return -1;
  }
  if (fault(CALL_rename)) return -1;
  lock();
  int result = (int)syscall(SYS_renameat2, from, old, to, new, flags);
  if (result == 0) note("R %s\t%s\n", source, target);
  unlock();
  return result;
}
int rename(const char *old, const char *new) { return renamed(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int from, const char *old, int to, const char *new) { return renamed(from, old, to, new, 0); }
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
  return renamed(from, old, to, new, flags);
}

int linkat(int from, const char *old, int to, const char *new, int flags) {
  char source[8300], target[8300];
  if (!active) return (int)syscall(SYS_linkat, from, old, to, new, flags);
  absolute(from, old, source, sizeof source);
  absolute(to, new, target, sizeof target);
  if (!is_beneath(target)) return (int)syscall(SYS_linkat, from, old, to, new, flags);
  if (crosses_disks(source, target)) return -1;
  if (fault(CALL_link)) return -1;
  lock();
  int result = (int)syscall(SYS_linkat, from, old, to, new, flags);
  if (result == 0) note("L %s\t%s\n", source, target);
  unlock();
  return result;
}

// Calls with a single path: unlink, rmdir, mkdir.
static int named(enum call call, char letter, int folder, const char *path, long number, long argument) {
  char full[8300];
  if (!active) return (int)syscall(number, folder, path, argument);
  absolute(folder, path, full, sizeof full);
  if (!is_beneath(full)) return (int)syscall(number, folder, path, argument);
  if (fault(call)) return -1;
  lock();
  int result = (int)syscall(number, folder, path, argument);
  if (result == 0) note("%c %s\n", letter, full);
  unlock();
  return result;
}
int unlink(const char *path) { return named(CALL_unlink, 'U', AT_FDCWD, path, SYS_unlinkat, 0); }
int unlinkat(int folder, const char *path, int flags) {
  return named(CALL_unlink, flags & AT_REMOVEDIR ? 'D' : 'U', folder, path, SYS_unlinkat, flags);
}
int rmdir(const char *path) { return named(CALL_unlink, 'D', AT_FDCWD, path, SYS_unlinkat, AT_REMOVEDIR); }
int mkdir(const char *path, mode_t mode) {
  return named(CALL_mkdir, 'M', AT_FDCWD, path, SYS_mkdirat, (long)mode);
}
int mkdirat(int folder, const char *path, mode_t mode) {
  return named(CALL_mkdir, 'M', folder, path, SYS_mkdirat, (long)mode);
}

// MARK: Modes

static int is_beneath_at(const char *path) {
  char full[8300];
  if (!active || !all_modes) return 0;
  absolute(AT_FDCWD, path, full, sizeof full);
  return is_beneath(full);
}
int stat(const char *path, struct stat *facts) {
  NEXT(stat);
  int result = real(path, facts);
  if (result == 0 && is_beneath_at(path)) facts->st_mode |= all_modes;
  return result;
}
int fstat(int descriptor, struct stat *facts) {
  NEXT(fstat);
  int result = real(descriptor, facts);
  if (result == 0 && all_modes && is_inside(descriptor)) facts->st_mode |= all_modes;
  return result;
}
int chmod(const char *path, mode_t mode) {
  NEXT(chmod);
  if (!is_beneath_at(path)) return real(path, mode);
  errno = EPERM;
  return -1;
}
int fchmod(int descriptor, mode_t mode) {
  NEXT(fchmod);
  if (!all_modes || !is_inside(descriptor)) return real(descriptor, mode);
  errno = EPERM;
  return -1;
}

// MARK: Locks, memory, processes

int flock(int descriptor, int operation) {
  NEXT(flock);
  if (is_inside(descriptor) && fault(CALL_flock)) return -1;
  if (is_inside(descriptor) && flock_is_unseen) {
    // A lock of another kind that also belongs to the open file description. Folders can't have one.
    short kind = operation & LOCK_UN ? F_UNLCK : operation & LOCK_EX ? F_WRLCK : F_RDLCK;
    struct flock range = {.l_type = kind, .l_whence = SEEK_SET};
    if (syscall(SYS_fcntl, descriptor, operation & LOCK_NB ? F_OFD_SETLK : F_OFD_SETLKW, &range) == 0) return 0;
    if (errno == EAGAIN || errno == EACCES) {
      errno = EWOULDBLOCK;
      return -1;
    }
  }
  return real(descriptor, operation);
}

int statfs(const char *path, struct statfs *facts) {
  NEXT(statfs);
  char full[8300];
  int result = real(path, facts);
  if (!active || !file_system || result != 0) return result;
  // The path of an open file is asked for by its descriptor.
  ssize_t length = strncmp(path, "/proc/self/fd/", 14) ? -1 : readlink(path, full, sizeof full - 1);
  if (length > 0) full[length] = 0;
  else absolute(AT_FDCWD, path, full, sizeof full);
  if (is_beneath(full)) facts->f_type = (__typeof__(facts->f_type))strtoul(file_system, NULL, 0);
  return 0;
}

static int do_fcntl(int descriptor, int command, void *argument) {
  static __typeof__(&fcntl64) real;
  if (!real) real = (__typeof__(&fcntl64))next("fcntl64");
  if ((command == F_SETLK || command == F_SETLKW) && is_inside(descriptor) && fault(CALL_fcntl)) return -1;
  return real(descriptor, command, argument);
}
#define FCNTL_ARGUMENT                      \
  va_list list;                             \
  va_start(list, command);                  \
  void *argument = va_arg(list, void *);    \
  va_end(list);                             \
  return do_fcntl(descriptor, command, argument);
int fcntl(int descriptor, int command, ...) { FCNTL_ARGUMENT }
int fcntl64(int descriptor, int command, ...) { FCNTL_ARGUMENT }

void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
  static __typeof__(&mmap64) real;
  if (!real) real = (__typeof__(&mmap64))next("mmap64");
  if (is_inside(descriptor) && fault(CALL_mmap)) return MAP_FAILED;
  return real(address, length, protection, flags, descriptor, offset);
}
void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset) {
  return mmap(address, length, protection, flags, descriptor, offset);
}

int posix_spawn(
  pid_t *process, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
  char *const arguments[], char *const environment[]) {
  NEXT(posix_spawn);
  if (active && fault(CALL_spawn)) return errno;
  return real(process, path, actions, attributes, arguments, environment);
}
pid_t fork(void) {
  NEXT(fork);
  if (active && fault(CALL_spawn)) return -1;
  return real();
}
pid_t vfork(void) { return fork(); }

// MARK: The clock

int clock_gettime(clockid_t clock, struct timespec *time) {
  NEXT(clock_gettime);
  int result = real(clock, time);
  if (active && clock_offset && clock == CLOCK_REALTIME && atomic_fetch_add(&clock_readings, 1) >= clock_from)
    time->tv_sec += clock_offset;
  return result;
}
