#ifndef CUPLOADS_H
#define CUPLOADS_H

#include <sys/types.h>

/// Tells the disk to begin writing this range, without waiting for it. Whether the kernel does so does not matter.
void uploads_start_writing(int file, off_t offset, off_t count);

/// Waits until this range has been handed to the disk, which makes nothing durable. Returns 0, or -1 with errno if that
/// failed: no later sync of this descriptor would report it.
int uploads_wait_for_writing(int file, off_t offset, off_t count);

/// Makes malloc keep tens of megabytes of freed memory for the next request. Buffers for bodies are needed again at
/// once, and taking memory from the system costs more than copying into it. To be called at the start of a program.
void uploads_keep_memory(void);

#endif
