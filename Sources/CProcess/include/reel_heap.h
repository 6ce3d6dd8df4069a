#ifndef REEL_C_HEAP_H
#define REEL_C_HEAP_H

// Once, at the start of the process: what is freed in megabytes goes back to the system.
void reel_heap_gives_back(void);

#endif
