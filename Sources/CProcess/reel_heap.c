#include "reel_heap.h"

#include <malloc.h>

// A part of an upload has 4 or 8 MiB. Left to itself, the heap takes the first that is freed for a sign of more, and
// keeps twice as much for each thread that ever held one (mallopt(3), "dynamic mmap threshold"): 200 MB for four
// uploads at once. Two small figures cost 5 % of processor time there, and nothing where files are small
// (docs/benchmarks.md).
void reel_heap_gives_back(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 4 << 20);
#endif
}
