#ifndef REEL_C_FILES_H
#define REEL_C_FILES_H

#include <stdint.h>
#include <sys/types.h>

// Linux calls that Swift's Glibc module lacks, because it is built without _GNU_SOURCE.

/// ioctl_ficlone(2): makes `target` share all blocks of `source` as it is now. Returns 0, or -1 with errno if the file
/// system can't, or if the two files are on different ones.
int reel_clone_file(int target, int source);

/// sync_file_range(2) with SYNC_FILE_RANGE_WRITE: makes the kernel begin to write `count` bytes from `offset` on (0: to
/// the end) to the disk, without waiting for it. Makes nothing durable. Returns 0, or -1 with errno.
int reel_start_writing(int file, off_t offset, off_t count);

/// renameat2(2) with RENAME_NOREPLACE: fails with EEXIST if `new_name` is taken, and with EINVAL if the file system
/// does not support it.
int reel_rename_without_replacing(int old_folder, const char *old_name, int new_folder, const char *new_name);

/// copy_file_range(2), at offsets of both files: returns how many bytes were copied, 0 at the end, or -1 with errno if
/// the kernel or a file system can't.
int64_t reel_copy_range(int source, int64_t from, int target, int64_t to, int64_t count);

/// fallocate(2) with FALLOC_FL_KEEP_SIZE: reserves space on the disk for the first `size` bytes of a file, without
/// changing its size. Returns 0, or -1 with errno: ENOSPC if there is no space, EOPNOTSUPP if the file system can't
/// tell.
int reel_reserve_room(int file, off_t size);

/// SEEK_DATA and SEEK_HOLE of lseek(2).
extern const int reel_seek_data;
extern const int reel_seek_hole;

/// openat2(2), which glibc has no function for, and which Swift can't reach through the variadic syscall(2). Returns a
/// descriptor, or -1 with errno; ENOSYS if the kernel (before 5.6) or a filter does not provide it.
int reel_openat2(int directory, const char *path, uint64_t flags, uint64_t resolve);

/// syncfs(2): what was written to the file system of an open file is durable on return. Returns 0, or -1 with errno.
int reel_sync_file_system(int descriptor);

/// Whether a process has the file open for writing, or has it mapped for that. F_SETLEASE of fcntl(2) tells, with a
/// lease that is released at once. `file` must be open for reading only. Returns 1 or 0; -1 if the kernel does not say:
/// the file is another user's and the process lacks CAP_LEASE, or its file system has no leases. For a file to which
/// other machines may write, neither answer covers them, and some network file systems answer 1 although no process has
/// it open.
int reel_has_writers(int file);

/// The file system that `path` is on, as statfs(2) identifies it (`f_type`); 0 if it is unknown.
uint32_t reel_file_system_type(const char *path);

/// Flags of openat2(2); see its manual page.
extern const uint64_t reel_resolve_beneath;
extern const uint64_t reel_resolve_no_symlinks;
extern const uint64_t reel_resolve_no_magiclinks;

/// O_PATH and O_TMPFILE, which are only defined under _GNU_SOURCE.
extern const int reel_o_path;
extern const int reel_o_tmpfile;

#endif
