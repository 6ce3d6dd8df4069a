#define _GNU_SOURCE
#include "reel_heap.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

// A part of an upload has 4 or 8 MiB. By default, the heap raises its thresholds when the first such block is
// freed, and keeps twice as much for each thread that ever held one (mallopt(3), "dynamic mmap threshold"): 200 MB
// for four concurrent uploads. Two small fixed thresholds cost 5 % of processor time there, and nothing if files
// are small. In addition, every thread that ever held a block has a heap of its own, which keeps what other threads
// have freed: two heaps for all of them take 30 MB less and no more time (docs/benchmarks.md).
void reel_heap_gives_back(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 4 << 20);
  mallopt(M_ARENA_MAX, 2);
#endif
}

int64_t reel_heap_keeps_to_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur > INT64_MAX) return -1;
  if (limit.rlim_cur >= INT64_C(4) << 30) return (int64_t)limit.rlim_cur;
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);
  pthread_attr_t small;
  if (pthread_attr_init(&small) == 0) {
    if (pthread_attr_setstacksize(&small, 2 << 20) == 0) pthread_setattr_default_np(&small);
    pthread_attr_destroy(&small);
  }
#endif
  return (int64_t)limit.rlim_cur;
}
