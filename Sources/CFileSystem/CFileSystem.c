#define _GNU_SOURCE
#include "CFileSystem.h"

#include <stdio.h>
#include <unistd.h>

ssize_t reel_copy_file_range(int source, off_t source_offset, int target, off_t target_offset, size_t count) {
  return copy_file_range(source, &source_offset, target, &target_offset, count, 0);
}

int reel_rename_without_replacing(int old_folder, const char *old_name, int new_folder, const char *new_name) {
  return renameat2(old_folder, old_name, new_folder, new_name, RENAME_NOREPLACE);
}
