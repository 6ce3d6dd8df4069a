#define _GNU_SOURCE
#include "COpenat2.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

const uint64_t reel_resolve_beneath = RESOLVE_BENEATH;
const uint64_t reel_resolve_no_symlinks = RESOLVE_NO_SYMLINKS;
const uint64_t reel_resolve_no_magiclinks = RESOLVE_NO_MAGICLINKS;
const int reel_o_path = O_PATH;

int reel_openat2(int directory, const char *path, uint64_t flags, uint64_t resolve) {
  struct open_how how = {.flags = flags, .resolve = resolve};
  return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}
