#define _GNU_SOURCE
#include "CUploads.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>

void uploads_start_writing(int file, off_t offset, off_t count) {
  (void)sync_file_range(file, offset, count, SYNC_FILE_RANGE_WRITE);
}

int uploads_wait_for_writing(int file, off_t offset, off_t count) {
  int flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  if (sync_file_range(file, offset, count, flags) == 0) return 0;
  // The kernel or the file system does not support this call. Any other error is the disk's, and is reported only once.
  return errno == EINVAL || errno == ENOSYS || errno == ESPIPE ? 0 : -1;
}

void uploads_keep_memory(void) {
#ifdef M_TRIM_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}
