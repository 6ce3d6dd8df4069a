#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "reel_signals.h"

// A sanitizer has a `pthread_create` of its own.
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

typedef int creation(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

// A shortage may pass: 30 tries in 3 seconds.
enum { tries = 30, pause_in_microseconds = 100 * 1000 };

static void give_up(void) {
  static const char words[] =
      "reel: this system gives Reel no more threads; raise the limits on processes and memory (`ulimit -u`, "
      "`ulimit -v`) or use fewer --jobs, then run the same command again\n";
  ssize_t written = write(STDERR_FILENO, words, sizeof words - 1);
  (void)written;
  // As ReelExit.couldNotRun.
  _exit(1);
}

// In the place of the C library's, also for the libraries that this program is linked with: it gives a thread, or ends
// the process. Without a thread libdispatch would ask for one once a second for ever, while the run and its signals
// wait, and SwiftNIO would end the process with a trace.
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
