#ifndef CUPLOADS_H
#define CUPLOADS_H

#include <sys/types.h>

/// Has the disk begin with what was written, without waiting for it. What the kernel says to it changes nothing.
void uploads_start_writing(int file, off_t offset, off_t count);

#endif
