#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "reel_signals.h"

// Sanitizers have their own `pthread_create`.
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

typedef int creation(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

// A shortage may be temporary: 30 attempts in 3 seconds.
enum { tries = 30, pause_in_microseconds = 100 * 1000 };

static void give_up(void) {
  static const char words[] =
      "reel: the system refuses to create more threads; raise the limits on processes and memory (`ulimit -u`, "
      "`ulimit -v`) or use fewer --jobs, then run the same command again\n";
  ssize_t written = write(STDERR_FILENO, words, sizeof words - 1);
  (void)written;
  // The same status as ReelExit.couldNotRun.
  _exit(1);
}

// Replaces the C library's function, also for the libraries that this program is linked with: it creates a thread
// or ends the process. Otherwise libdispatch would retry once a second forever, while the run and its signals wait,
// and SwiftNIO would end the process with a stack trace.
int pthread_create(
    pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
  creation *create = (creation *)dlsym(RTLD_NEXT, "pthread_create");
  if (!create) return ENOSYS;
  for (int failures = 0;;) {
    int error = create(thread, attributes, start, argument);
    if (error != EAGAIN) return error;
    reel_signals_end_if_told();
    if (++failures == tries) give_up();
    usleep(pause_in_microseconds);
  }
}

#endif
