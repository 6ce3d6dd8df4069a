// Writes the seccomp filter that a worker would load to standard output: `filter reads|mends|forks`
// (scripts/check-aarch64).
#define _GNU_SOURCE
#include <seccomp.h>
#include <string.h>

#define seccomp_load(filter) seccomp_export_bpf(filter, 1)
#include "reel_seccomp.c"

int main(int count, char **words) {
  // A fixed API level, rather than the one that this kernel or an emulator supports.
  if (seccomp_api_set(4) != 0) return 1;
  const char *kind = count > 1 ? words[1] : "";
  return reel_confine_system_calls(strcmp(kind, "forks") == 0, strcmp(kind, "mends") == 0) == 0 ? 0 : 1;
}
