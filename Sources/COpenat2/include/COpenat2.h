#ifndef COPENAT2_H
#define COPENAT2_H

#include <stdint.h>

/// openat2(2), which glibc has no function for, and which Swift can't reach through the variadic syscall(2).
/// Returns a descriptor, or -1 with errno; ENOSYS where the kernel (before 5.6) or a filter does not have it.
int reel_openat2(int directory, const char *path, uint64_t flags, uint64_t resolve);

/// Flags of openat2(2): see its manual page.
extern const uint64_t reel_resolve_beneath;
extern const uint64_t reel_resolve_no_symlinks;
extern const uint64_t reel_resolve_no_magiclinks;

/// O_PATH, which only shows itself under _GNU_SOURCE.
extern const int reel_o_path;

#endif
