#pragma once

#include <stdbool.h>
#include <stdint.h>

// What this process may still use once it is confined.
typedef struct {
  // Bytes of address space beyond what is mapped when `reel_confine_limits` is called.
  int64_t memory;
  // Seconds of processor time before SIGXCPU. SIGKILL, which no process can block, comes after `reel_last_second` of
  // them.
  int seconds;
  // Descriptors above the channel.
  int descriptors;
  // The size of the largest file that may be written; 0 if nothing may be written.
  int64_t output;
} reel_bounds;

// Returns the processor time that a process with such `seconds` may use in all: those for one file, on top of what it
// may have used before. A process that has used more gets no other file (`reel_child_allow_seconds`), because only root
// can raise this limit.
static inline int64_t reel_last_second(int64_t seconds) { return 2 * seconds + 1; }

// Does what the C library would otherwise do at its first use, with files that a confined process can't open (the time
// zone). Resets every signal to its default action, and changes the working directory to `/`.
void reel_confine_prepare(void);

// The layers. Each is permanent and inherited by every process that this one starts. All return 0, or -errno if the
// layer is not available.

// No new privileges by exec, no core dump, no ptrace by others.
int reel_confine_privileges(void);

// Limits on memory, processor time, descriptors and the size of files.
int reel_confine_limits(const reel_bounds *bounds);

// The same for a process that was forked, except for memory, for which it has inherited its server's limit.
int reel_confine_forked_limits(const reel_bounds *bounds);

// Landlock: no file, no TCP port and, if the kernel has scopes, no signal and no abstract socket to the outside. Needs
// one free descriptor while it runs.
int reel_confine_landlock(void);

// A filter that allows only what is needed to read a file from a descriptor. Any other system call ends the process
// with SIGSYS. A process that `forks` workers (`reel_child_fork_sibling`) may also start them, and confine them
// further. One that `mends` is given two descriptors above its channel, and copies from the first to the second. A
// process that forks needs `mends`, too, if its workers do.
int reel_confine_system_calls(bool forks, bool mends);
