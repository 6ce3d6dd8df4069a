#ifndef REEL_C_FILE_SYSTEM_H
#define REEL_C_FILE_SYSTEM_H

#include <sys/types.h>

// Linux calls that Swift's Glibc module does not carry, because it is built without _GNU_SOURCE.

/// copy_file_range(2) with flags 0: the kernel copies up to `count` bytes between two files, each at its own
/// position. The bytes copied, 0 at the source's end, or -1 with errno.
ssize_t reel_copy_file_range(int source, off_t source_offset, int target, off_t target_offset, size_t count);

/// renameat2(2) with RENAME_NOREPLACE: fails with EEXIST when `new_name` is taken, and with EINVAL where the file
/// system knows no such rename.
int reel_rename_without_replacing(int old_folder, const char *old_name, int new_folder, const char *new_name);

#endif
