#define _GNU_SOURCE
#include "reel_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

int reel_clone_file(int target, int source) {
  return ioctl(target, FICLONE, source);
}

int reel_sync_file_system(int descriptor) {
  return syncfs(descriptor);
}

int reel_reserve_room(int file, off_t size) {
  // Do not fill the disk for others, even for an instant, with an allocation that must fail anyway.
  struct statvfs facts;
  if (fstatvfs(file, &facts) == 0 && facts.f_frsize > 0 && (fsblkcnt_t)(size / (off_t)facts.f_frsize) > facts.f_bfree) {
    errno = ENOSPC;
    return -1;
  }
  int result;
  do result = fallocate(file, FALLOC_FL_KEEP_SIZE, 0, size);
  while (result < 0 && errno == EINTR);
  if (result < 0 && (errno == ENOSPC || errno == EDQUOT)) {
    // Release what was allocated before the failure (ext4 keeps it).
    int error = errno;
    fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, size);
    errno = error;
  }
  return result;
}

int reel_start_writing(int file, off_t offset, off_t count) {
  return sync_file_range(file, offset, count, SYNC_FILE_RANGE_WRITE);
}

int reel_rename_without_replacing(int old_folder, const char *old_name, int new_folder, const char *new_name) {
  return renameat2(old_folder, old_name, new_folder, new_name, RENAME_NOREPLACE);
}

int reel_has_writers(int file) {
  // A process that opens the file for writing in between breaks the lease, and the holder gets a signal. Make that not
  // SIGIO, which would end the process, but one that is ignored by default.
  if (fcntl(file, F_SETSIG, SIGURG) != 0) return -1;
  if (fcntl(file, F_SETLEASE, F_RDLCK) == 0) {
    fcntl(file, F_SETLEASE, F_UNLCK);
    return 0;
  }
  return errno == EAGAIN ? 1 : -1;
}

uint32_t reel_file_system_type(const char *path) {
  struct statfs facts;
  return statfs(path, &facts) == 0 ? (uint32_t)facts.f_type : 0;
}

const uint64_t reel_resolve_beneath = RESOLVE_BENEATH;
const uint64_t reel_resolve_no_symlinks = RESOLVE_NO_SYMLINKS;
const uint64_t reel_resolve_no_magiclinks = RESOLVE_NO_MAGICLINKS;
const int reel_o_path = O_PATH;
const int reel_o_tmpfile = O_TMPFILE;

int reel_openat2(int directory, const char *path, uint64_t flags, uint64_t resolve) {
  struct open_how how = {.flags = flags, .resolve = resolve};
  return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

int64_t reel_copy_range(int source, int64_t from, int target, int64_t to, int64_t count) {
  off64_t in = from, out = to;
  ssize_t copied;
  // Copy in pieces, so that signals and deadlines are noticed between two of them.
  size_t piece = count > (64 << 20) ? (size_t)(64 << 20) : (size_t)count;
  do copied = copy_file_range(source, &in, target, &out, piece, 0);
  while (copied < 0 && errno == EINTR);
  return copied;
}

const int reel_seek_data = SEEK_DATA;
const int reel_seek_hole = SEEK_HOLE;
