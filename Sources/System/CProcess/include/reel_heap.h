#ifndef REEL_C_HEAP_H
#define REEL_C_HEAP_H

#include <stdint.h>

// Once, at the start of the process: what is freed in megabytes goes back to the system.
void reel_heap_gives_back(void);

// Once, before there are other threads: where address space is limited (RLIMIT_AS) to a few gigabytes, all threads share
// one heap and have small stacks. Each would take 72 MB of it otherwise, most of which it never uses.
// Returns the limit in bytes, -1 where there is none.
int64_t reel_heap_keeps_to_limit(void);

#endif
