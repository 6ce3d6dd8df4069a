#ifndef REEL_C_HEAP_H
#define REEL_C_HEAP_H

#include <stdint.h>

// Makes the heap return freed blocks of megabytes to the system. Call it once, at the start of the process.
void reel_heap_gives_back(void);

// If the address space is limited (RLIMIT_AS) to a few gigabytes, makes all threads share one heap and have small
// stacks. Otherwise each thread would take 72 MB of it, most of which it never uses. Call it once, before there are
// other threads.
// Returns the limit in bytes, or -1 if there is none.
int64_t reel_heap_keeps_to_limit(void);

#endif
