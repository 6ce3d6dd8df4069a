#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "reel_child.h"
#include "reel_confine.h"

// Allowed with any arguments: memory, time, waiting, random numbers, and reading by position from what is open.
static const int free_calls[] = {
    SCMP_SYS(brk),           SCMP_SYS(munmap),        SCMP_SYS(mremap),
    SCMP_SYS(pread64),       SCMP_SYS(lseek),         SCMP_SYS(fstat),
    SCMP_SYS(futex),         SCMP_SYS(sched_yield),   SCMP_SYS(clock_gettime),   SCMP_SYS(gettimeofday),
    SCMP_SYS(clock_getres),  SCMP_SYS(getrandom),     SCMP_SYS(sched_getaffinity),
    // glibc 2.36 asks for the size of memory before it sorts (qsort). Linux tells it to any process.
    SCMP_SYS(sysinfo),
    SCMP_SYS(getpid),        SCMP_SYS(gettid),        SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),  SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),          SCMP_SYS(exit_group),
};

// Calls that a newer C library or compiler may make by itself, each with a fallback. They are answered as by a kernel
// that does not know them: killing the process for them would break Reel with the next release of a system. None is
// carried out, so a reader that was taken over gains nothing from them.
static const int unknown_calls[] = {
    SCMP_SYS(rseq), SCMP_SYS(set_robust_list), SCMP_SYS(membarrier), SCMP_SYS(getcpu),
    // From 424 on, a call has the same number on every architecture, and libseccomp's headers may be older than it:
    // futex_waitv, map_shadow_stack, futex_wake, futex_wait, futex_requeue, mseal.
    449, 453, 454, 455, 456, 462,
};

// The first call that did not exist when this list was made (Linux 6.17), and the number of later calls that are
// covered. Calls that are not known yet are not carried out either. Every older call that is not on a list is an
// attempt to break out.
enum { first_future_call = 470, future_calls = 130 };

// Constants of newer kernels, or ones that other C libraries use.
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
enum { advice_cold = 20, advice_collapse = 25, advice_guard_install = 102, advice_guard_remove = 103 };

#define RULE(filter, call, ...) ANSWER(filter, SCMP_ACT_ALLOW, call, __VA_ARGS__)
#define ANSWER(filter, action, call, ...) \
  seccomp_rule_add_array(filter, action, SCMP_SYS(call), \
      sizeof((struct scmp_arg_cmp[]){__VA_ARGS__}) / sizeof(struct scmp_arg_cmp), \
      (const struct scmp_arg_cmp[]){__VA_ARGS__})

static int allow_free_calls(scmp_filter_ctx filter) {
  int error = 0;
  for (size_t index = 0; !error && index < sizeof free_calls / sizeof free_calls[0]; index++)
    error = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, free_calls[index], 0, NULL);
  return error;
}

static int refuse_unknown_calls(scmp_filter_ctx filter) {
  int error = 0;
  for (size_t index = 0; !error && index < sizeof unknown_calls / sizeof unknown_calls[0]; index++)
    error = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), unknown_calls[index], 0, NULL);
  for (int call = first_future_call; !error && call < first_future_call + future_calls; call++)
    error = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0, NULL);
  // With a path, these calls would reveal facts about any file. For an open one, fstat is allowed.
  if (!error)
    error = ANSWER(filter, SCMP_ACT_ERRNO(ENOSYS), newfstatat,
        SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH));
  if (!error)
    error = ANSWER(filter, SCMP_ACT_ERRNO(ENOSYS), statx,
        SCMP_A2(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH));
  return error;
}

// Allows advice on the process's own memory. Not all of it: for root, MADV_HWPOISON takes a page from the whole
// machine.
static int allow_advice(scmp_filter_ctx filter) {
  static const int harmless[] = {MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP};
  int error = 0;
  for (size_t index = 0; !error && index < sizeof harmless / sizeof harmless[0]; index++)
    error = RULE(filter, madvise, SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)harmless[index]));
  // Answer as a kernel that does not know them.
  for (int advice = advice_cold; !error && advice <= advice_collapse; advice++)
    error = ANSWER(filter, SCMP_ACT_ERRNO(EINVAL), madvise, SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)advice));
  for (int advice = advice_guard_install; !error && advice <= advice_guard_remove; advice++)
    error = ANSWER(filter, SCMP_ACT_ERRNO(EINVAL), madvise, SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)advice));
  return error;
}

// Allows memory, but none that can be executed, and no mapped files.
static int allow_memory(scmp_filter_ctx filter) {
  int error = RULE(filter, mmap, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
      SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
  if (!error) error = RULE(filter, mprotect, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  return error;
}

// Allows closing the channel, and the descriptor that a file may have. The three below must stay open, so that there is
// never room for a second file. Compare for equality, not greater: the kernel reads only half of the value that a
// filter compares.
static int allow_closing(scmp_filter_ctx filter) {
  int error = RULE(filter, close, SCMP_A0(SCMP_CMP_EQ, reel_worker_channel));
  if (!error) error = RULE(filter, close, SCMP_A0(SCMP_CMP_EQ, reel_worker_channel + 1));
  return error;
}

// Allows the channel, and the C library's last messages (standard error is /dev/null).
static int allow_words(scmp_filter_ctx filter) {
  int error = RULE(filter, recvmsg, SCMP_A0(SCMP_CMP_EQ, reel_worker_channel));
  if (!error) error = RULE(filter, sendmsg, SCMP_A0(SCMP_CMP_EQ, reel_worker_channel));
  if (!error) error = RULE(filter, write, SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO));
  if (!error) error = RULE(filter, writev, SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO));
  return error;
}

// Allows abort(), which sends SIGABRT to the process itself, so that an abort can be told from a breach.
static int allow_abort(scmp_filter_ctx filter) {
  return RULE(filter, tgkill, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()), SCMP_A2(SCMP_CMP_EQ, SIGABRT));
}

static int allow_reading(scmp_filter_ctx filter) {
  int error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  // Use a tree, not a list, so that a call is found in a few comparisons.
  if (!error) seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  if (!error) error = allow_free_calls(filter);
  if (!error) error = allow_memory(filter);
  if (!error) error = allow_advice(filter);
  if (!error) error = allow_closing(filter);
  if (!error) error = allow_words(filter);
  if (!error) error = allow_abort(filter);
  if (!error) error = refuse_unknown_calls(filter);
  return error;
}

// Refuses names for memory, which a C library may set.
static int refuse_names(scmp_filter_ctx filter) {
  return ANSWER(filter, SCMP_ACT_ERRNO(EINVAL), prctl, SCMP_A0(SCMP_CMP_EQ, PR_SET_VMA));
}

// Allows writing to the second of two descriptors, and to nothing else. What is written is read from the first one, or
// comes from memory.
static int allow_mending(scmp_filter_ctx filter) {
  const int source = reel_worker_channel + 1, output = reel_worker_channel + 2;
  int error = RULE(filter, pwrite64, SCMP_A0(SCMP_CMP_EQ, output));
  if (!error) error = RULE(filter, copy_file_range, SCMP_A0(SCMP_CMP_EQ, source), SCMP_A2(SCMP_CMP_EQ, output));
  if (!error) error = RULE(filter, close, SCMP_A0(SCMP_CMP_EQ, output));
  return error;
}

// Allows forking a sibling, moving its channel into place, and what the confinement of a sibling requires.
static int allow_forking(scmp_filter_ctx filter) {
  int error = RULE(filter, clone, SCMP_A0(SCMP_CMP_EQ, CLONE_PARENT));
#ifdef __NR_dup2
  if (!error) error = RULE(filter, dup2, SCMP_A1(SCMP_CMP_EQ, reel_worker_channel));
#endif
  if (!error) error = RULE(filter, dup3, SCMP_A1(SCMP_CMP_EQ, reel_worker_channel));
  if (!error) error = RULE(filter, tgkill, SCMP_A2(SCMP_CMP_EQ, SIGABRT));
  // Only the process's own limits.
  if (!error) error = RULE(filter, prlimit64, SCMP_A0(SCMP_CMP_EQ, 0));
  if (!error) error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 0);
  if (!error) error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(seccomp), 0);
  return error;
}

int reel_confine_system_calls(bool forks, bool mends) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
  if (!filter) return -ENOMEM;
  int error = allow_reading(filter);
  if (!error) error = forks ? allow_forking(filter) : refuse_names(filter);
  if (!error && mends) error = allow_mending(filter);
  if (!error) error = seccomp_load(filter);
  seccomp_release(filter);
  return error;
}
