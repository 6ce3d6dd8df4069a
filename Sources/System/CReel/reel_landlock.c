#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "reel_confine.h"

// Landlock through its system calls: the C library has no functions for it, and the headers of a distribution are often
// older than its kernel (Documentation/userspace-api/landlock.rst).

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

// struct landlock_ruleset_attr as of ABI 6. An older kernel accepts a longer struct as long as what it does not know is
// 0.
typedef struct {
  uint64_t handled_files;
  uint64_t handled_network;
  uint64_t scoped;
} ruleset_attributes;

enum { create_ruleset_version = 1 };

// The bits of every access right that an ABI knows.
static ruleset_attributes all_rights(int abi) {
  int file_rights = abi >= 5 ? 16 : abi >= 3 ? 15 : abi == 2 ? 14 : 13;
  ruleset_attributes attributes = {.handled_files = (UINT64_C(1) << file_rights) - 1};
  if (abi >= 4) attributes.handled_network = 3;
  if (abi >= 6) attributes.scoped = 3;
  return attributes;
}

int reel_confine_landlock(void) {
  long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, create_ruleset_version);
  if (abi < 1) return abi < 0 ? -errno : -ENOSYS;
  ruleset_attributes attributes = all_rights((int)abi);
  // Without a single rule, everything that is handled is denied.
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
  if (ruleset < 0) return -errno;
  int error = syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
  close(ruleset);
  return error;
}
