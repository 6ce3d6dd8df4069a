#define _GNU_SOURCE
#include "reel_confine.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "reel_child.h"

void reel_confine_prepare(void) {
  // gmtime_r reads /etc/localtime at its first use, unless tzset has done so.
  tzset();
  // A crash ends the process with its own signal, with no handler of a runtime that would start a debugger.
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  if (chdir("/") < 0) return;
}

int reel_confine_privileges(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -errno;
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return -errno;
  // A reader needs no capabilities, neither root's nor those that a systemd unit gave to the program that started it
  // (CAP_LEASE).
  struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
  return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

// Bytes of address space in use, or -1.
static int64_t mapped_bytes(void) {
  FILE *file = fopen("/proc/self/statm", "re");
  if (!file) return -1;
  long long pages = -1;
  if (fscanf(file, "%lld", &pages) != 1) pages = -1;
  fclose(file);
  return pages < 0 ? -1 : pages * (int64_t)sysconf(_SC_PAGESIZE);
}

static int limit(int resource, rlim_t soft, rlim_t hard) {
  struct rlimit old, new;
  if (getrlimit(resource, &old) < 0) return -errno;
  // A tighter limit is kept.
  new.rlim_max = hard < old.rlim_max ? hard : old.rlim_max;
  new.rlim_cur = soft < new.rlim_max ? soft : new.rlim_max;
  return setrlimit(resource, &new) < 0 ? -errno : 0;
}

int reel_confine_forked_limits(const reel_bounds *bounds) {
  // The parent raises the soft limit for each file.
  int error = limit(RLIMIT_CPU, (rlim_t)bounds->seconds, (rlim_t)reel_last_second(bounds->seconds));
  if (!error) error = limit(RLIMIT_FSIZE, (rlim_t)bounds->output, (rlim_t)bounds->output);
  rlim_t descriptors = (rlim_t)(reel_worker_channel + 1 + bounds->descriptors);
  if (!error) error = limit(RLIMIT_NOFILE, descriptors, descriptors);
  return error;
}

int reel_confine_limits(const reel_bounds *bounds) {
  int64_t mapped = mapped_bytes();
  if (mapped < 0) return -ENOENT;
  rlim_t memory = (rlim_t)(mapped + bounds->memory);
  int error = limit(RLIMIT_AS, memory, memory);
  if (!error) error = limit(RLIMIT_CORE, 0, 0);
  if (!error) error = reel_confine_forked_limits(bounds);
  return error;
}
