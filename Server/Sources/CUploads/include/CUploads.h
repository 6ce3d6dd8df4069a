#ifndef CUPLOADS_H
#define CUPLOADS_H

#include <sys/types.h>

/// Has the disk begin with what was written, without waiting for it. What the kernel says to it changes nothing.
void uploads_start_writing(int file, off_t offset, off_t count);

/// Waits until the disk was given what was written there. It makes nothing durable. 0, or -1 with errno where that failed:
/// no later sync by this descriptor would say so.
int uploads_wait_for_writing(int file, off_t offset, off_t count);

/// Has malloc keep what is freed for who asks next, tens of megabytes of it: what a body is read into is needed again at
/// once, and to take memory from the system costs more than to copy into it. For the beginning of a program.
void uploads_keep_memory(void);

#endif
