#define _GNU_SOURCE
#include "CEscapes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int try_open(void) { return open("/etc/passwd", O_RDONLY) >= 0; }
static int try_open_for_writing(void) { return open("/tmp/reel-escaped", O_WRONLY | O_CREAT, 0600) >= 0; }
static int try_openat(void) { return openat(AT_FDCWD, "/etc/passwd", O_RDONLY) >= 0; }

static int try_openat2(void) {
  struct open_how how = {.flags = O_RDONLY};
  return syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &how, sizeof how) >= 0;
}

static int try_socket(void) { return socket(AF_INET, SOCK_STREAM, 0) >= 0; }
static int try_socketpair(void) {
  int pair[2];
  return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;
}

static int try_connect(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(80)};
  return connect(3, (struct sockaddr *)&address, sizeof address) == 0 || errno == ECONNREFUSED;
}

static int try_execve(void) {
  char *const arguments[] = {"true", NULL};
  return execve("/bin/true", arguments, arguments + 1) == 0;
}

static int try_fork(void) { return (int)fork() >= 0; }
static int try_vfork(void) {
  pid_t child = vfork();
  if (child == 0) _exit(0);
  return child >= 0;
}
static int try_clone(void) { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) >= 0; }
static int try_clone3(void) {
  unsigned long long arguments[11] = {0};
  return syscall(SYS_clone3, arguments, sizeof arguments) >= 0;
}
// Permitted only in a fork server.
static int try_clone_sibling(void) { return syscall(SYS_clone, CLONE_PARENT, 0, 0, 0, 0) >= 0; }

static int try_ptrace(void) { return ptrace(PTRACE_TRACEME, 0, 0, 0) == 0; }
static int try_kill_parent(void) { return kill(getppid(), 0) == 0; }
static int try_kill(void) { return kill(1, 0) == 0; }
static int try_tgkill_other(void) { return syscall(SYS_tgkill, 1, 1, SIGABRT) == 0; }
static int try_tgkill_itself(void) { return syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1) == 0; }
static int try_mount(void) { return mount("none", "/tmp", "tmpfs", 0, NULL) == 0; }
static int try_io_uring(void) {
  char parameters[256] = {0};
  return syscall(425, 4, parameters) >= 0;
}

static int try_memfd(void) { return memfd_create("escape", 0) >= 0; }
static int try_executable_memory(void) {
  return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}
static int try_making_memory_executable(void) {
  void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && mprotect(memory, 4096, PROT_READ | PROT_EXEC) == 0;
}
static int try_mapping_the_file(void) { return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 4, 0) != MAP_FAILED; }
// Without any page, so that it would do no harm if it were permitted.
static int try_poisoning_memory(void) { return madvise(NULL, 0, 100 /* MADV_HWPOISON */) == 0; }
static int try_raising_limits(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) < 0) return 0;
  limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
  return setrlimit(RLIMIT_AS, &limit) == 0;
}
static int try_stat(void) {
  struct stat facts;
  return stat("/etc/passwd", &facts) == 0;
}
static int try_unlink(void) { return unlink("/tmp/reel-not-there") == 0 || errno == ENOENT; }
static int try_prctl(void) { return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0; }
static int try_reading_the_parent(void) {
  char byte;
  struct iovec local = {&byte, 1}, remote = {(void *)0x400000, 1};
  return syscall(SYS_process_vm_readv, getppid(), &local, 1, &remote, 1, 0) >= 0;
}
static int try_bpf(void) { return syscall(SYS_bpf, 0, NULL, 0) >= 0; }
static int try_userfaultfd(void) { return syscall(SYS_userfaultfd, 0) >= 0; }
static int try_unshare(void) { return unshare(CLONE_NEWUSER) == 0; }
static int try_dup(void) { return dup(4) >= 0; }
// The descriptor of a writer's output.
static int try_writing_beside_the_file(void) { return pwrite(5, "x", 1, 0) == 1; }
static int try_writing_the_file(void) { return pwrite(4, "x", 1, 0) == 1 || write(4, "x", 1) == 1; }

// Would free a descriptor number for another file.
static int try_closing_standard_input(void) { return close(0) == 0; }
// The kernel uses the lower half of the number; a filter sees all of it.
static int try_closing_by_a_long_number(void) { return syscall(SYS_close, 1UL << 32) == 0; }
static int try_ignoring_a_signal(void) {
  struct sigaction ignoring = {.sa_handler = SIG_IGN};
  return sigaction(SIGXCPU, &ignoring, NULL) == 0;
}

#ifdef __x86_64__
// The call numbers of another architecture that the same kernel accepts.
static int try_x32(void) { return syscall(0x40000000 | SYS_getpid) >= 0; }
#endif
// For a path instead of an open file.
static int try_statx(void) {
  struct statx facts;
  return statx(AT_FDCWD, "/etc/passwd", 0, STATX_SIZE, &facts) == 0;
}

// A call that a future C library may try: a kernel that does not know it says so, and the filter returns the same
// error.
static int ask_future(void) { return syscall(480, 0, 0, 0, 0, 0, 0) >= 0; }
static int ask_rseq(void) { return syscall(SYS_rseq, NULL, 0, 0, 0) >= 0; }
static int ask_mseal(void) { return syscall(462, NULL, 0, 0) >= 0; }
static int ask_futex_wake(void) { return syscall(454, NULL, 0, 0, 0) >= 0; }
static int ask_membarrier(void) { return syscall(SYS_membarrier, 0, 0, 0) >= 0; }
static int ask_statx_of_descriptor(void) {
  struct statx facts;
  return statx(4, "", AT_EMPTY_PATH, STATX_SIZE, &facts) == 0;
}
static int ask_stat_of_descriptor(void) {
  struct stat facts;
  return fstatat(4, "", &facts, AT_EMPTY_PATH) == 0;
}
static int ask_for_cold_memory(void) { return madvise(NULL, 0, 20 /* MADV_COLD */) == 0; }
static int ask_for_guard_pages(void) { return madvise(NULL, 0, 102 /* MADV_GUARD_INSTALL */) == 0; }
// Through syscall(): the thread sanitizer's prctl wrapper reads the name, and here there is none.
static int ask_to_name_memory(void) { return syscall(SYS_prctl, 0x53564d41 /* PR_SET_VMA */, 0, 0, 0, 0) == 0; }

typedef struct {
  const char *name;
  int (*try)(void);
} escape;

static const escape escapes[] = {
    {"open", try_open},
    {"open-for-writing", try_open_for_writing},
    {"openat", try_openat},
    {"openat2", try_openat2},
    {"socket", try_socket},
    {"socketpair", try_socketpair},
    {"connect", try_connect},
    {"execve", try_execve},
    {"fork", try_fork},
    {"vfork", try_vfork},
    {"clone", try_clone},
    {"clone3", try_clone3},
    {"clone-sibling", try_clone_sibling},
    {"ptrace", try_ptrace},
    {"kill-parent", try_kill_parent},
    {"kill", try_kill},
    {"tgkill-other", try_tgkill_other},
    {"tgkill-itself", try_tgkill_itself},
    {"mount", try_mount},
    {"io_uring_setup", try_io_uring},
    {"memfd", try_memfd},
    {"executable-memory", try_executable_memory},
    {"making-memory-executable", try_making_memory_executable},
    {"mapping-the-file", try_mapping_the_file},
    {"poisoning-memory", try_poisoning_memory},
    {"raising-limits", try_raising_limits},
    {"stat", try_stat},
    {"unlink", try_unlink},
    {"prctl", try_prctl},
    {"reading-the-parent", try_reading_the_parent},
    {"bpf", try_bpf},
    {"userfaultfd", try_userfaultfd},
    {"unshare", try_unshare},
    {"dup", try_dup},
    {"writing-the-file", try_writing_the_file},
    {"writing-beside-the-file", try_writing_beside_the_file},
    {"closing-standard-input", try_closing_standard_input},
    {"closing-by-a-long-number", try_closing_by_a_long_number},
    {"ignoring-a-signal", try_ignoring_a_signal},
    {"statx", try_statx},
#ifdef __x86_64__
    {"x32", try_x32},
#endif
};

static const escape questions[] = {
    {"future", ask_future},
    {"rseq", ask_rseq},
    {"mseal", ask_mseal},
    {"futex-wake", ask_futex_wake},
    {"membarrier", ask_membarrier},
    {"statx-of-descriptor", ask_statx_of_descriptor},
    {"stat-of-descriptor", ask_stat_of_descriptor},
    {"cold-memory", ask_for_cold_memory},
    {"guard-pages", ask_for_guard_pages},
    {"name-memory", ask_to_name_memory},
};

int reel_escape(const char *attempt) {
  for (size_t index = 0; index < sizeof escapes / sizeof escapes[0]; index++)
    if (strcmp(escapes[index].name, attempt) == 0) return escapes[index].try();
  for (size_t index = 0; index < sizeof questions / sizeof questions[0]; index++)
    if (strcmp(questions[index].name, attempt) == 0) return questions[index].try();
  return -1;
}

const char *reel_question_name(int index) {
  return index >= 0 && (size_t)index < sizeof questions / sizeof questions[0] ? questions[index].name : NULL;
}

const char *reel_escape_name(int index) {
  return index >= 0 && (size_t)index < sizeof escapes / sizeof escapes[0] ? escapes[index].name : NULL;
}

int reel_open_descriptors(void) {
  int count = 0;
  for (int descriptor = 0; descriptor < 4096; descriptor++)
    // A pipe or a socket can't seek and fails differently; only a closed descriptor gives EBADF.
    if (lseek(descriptor, 0, SEEK_CUR) >= 0 || errno != EBADF) count++;
  return count;
}

long reel_eat_memory(void) {
  enum { bite = 1 << 20 };
  long eaten = 0;
  while (1) {
    char *memory = malloc(bite);
    if (!memory) return eaten;
    memset(memory, 1, bite);
    eaten += bite;
  }
}

int reel_speak(const void *bytes, size_t count, int descriptor) {
  struct iovec part = {(void *)bytes, count};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  return sendmsg(3, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

ssize_t reel_hear(void *bytes, size_t capacity, int *descriptor, int peeking) {
  struct iovec part = {bytes, capacity};
  char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t count = recvmsg(3, &message, peeking ? MSG_PEEK : 0);
  struct cmsghdr *header = count < 0 ? NULL : CMSG_FIRSTHDR(&message);
  *descriptor = -1;
  if (header && header->cmsg_len == CMSG_LEN(sizeof(int)))
    memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
  return count;
}

int reel_is_sanitized(void) {
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
  return 1;
#else
  return 0;
#endif
}
