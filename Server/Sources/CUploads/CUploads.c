#define _GNU_SOURCE
#include "CUploads.h"

#include <fcntl.h>

void uploads_start_writing(int file, off_t offset, off_t count) {
  (void)sync_file_range(file, offset, count, SYNC_FILE_RANGE_WRITE);
}
