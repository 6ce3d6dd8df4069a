#define _GNU_SOURCE
#include "reel_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

// The first number above the standard descriptors, even if the program was started without them.
enum { lowest_descriptor = 3 };

// Linux 6.3; the headers of a distribution are often older than its kernel.
enum { memfd_noexec_seal = 8 };

static int above_standard_descriptors(int descriptor) {
  if (descriptor >= lowest_descriptor) return descriptor;
  int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, lowest_descriptor);
  int error = errno;
  close(descriptor);
  return moved < 0 ? -error : moved;
}

int reel_channel_pair(int ends[2]) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return -errno;
  ends[0] = above_standard_descriptors(pair[0]);
  ends[1] = above_standard_descriptors(pair[1]);
  if (ends[0] >= 0 && ends[1] >= 0) return 0;
  int error = ends[0] < 0 ? ends[0] : ends[1];
  if (ends[0] >= 0) close(ends[0]);
  if (ends[1] >= 0) close(ends[1]);
  return error;
}

int reel_channel_is(int descriptor) {
  int type = 0;
  socklen_t length = sizeof type;
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

static int send_frame(int channel, const void *bytes, size_t count, int descriptor, int flags) {
  struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  if (descriptor >= 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = &control;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  ssize_t sent;
  do sent = sendmsg(channel, &message, MSG_NOSIGNAL | flags);
  while (sent < 0 && errno == EINTR);
  return sent < 0 ? -errno : 0;
}

int reel_channel_send(int channel, const void *bytes, size_t count, int descriptor) {
  return send_frame(channel, bytes, count, descriptor, 0);
}

int reel_channel_send_at_once(int channel, const void *bytes, size_t count, int descriptor) {
  return send_frame(channel, bytes, count, descriptor, MSG_DONTWAIT);
}

// Returns the only descriptor in `message`, -1 if there is none, or -EPROTO after closing all of them if there are
// several.
static int received_descriptor(struct msghdr *message) {
  int found = -1, count = 0;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t descriptors = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t index = 0; index < descriptors; index++) {
      int descriptor;
      memcpy(&descriptor, CMSG_DATA(header) + index * sizeof(int), sizeof descriptor);
      if (count++ == 0) found = descriptor;
      else close(descriptor);
    }
  }
  if (count <= 1 && !(message->msg_flags & MSG_CTRUNC)) return found;
  if (found >= 0) close(found);
  return -EPROTO;
}

ssize_t reel_channel_receive(int channel, void *bytes, size_t capacity, int *descriptor) {
  *descriptor = -1;
  struct iovec part = {.iov_base = bytes, .iov_len = capacity};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.bytes};
  ssize_t received;
  do received = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
  while (received < 0 && errno == EINTR);
  if (received < 0) return -errno;
  int found = received_descriptor(&message);
  if (found < -1) return found;
  if (message.msg_flags & MSG_TRUNC) {
    if (found >= 0) close(found);
    return -EMSGSIZE;
  }
  *descriptor = found;
  return received;
}

ssize_t reel_channel_receive_plain(int channel, void *bytes, size_t capacity) {
  // Without room for control data, the kernel drops any descriptors that were sent along.
  struct iovec part = {.iov_base = bytes, .iov_len = capacity};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  ssize_t received;
  do received = recvmsg(channel, &message, MSG_DONTWAIT);
  while (received < 0 && errno == EINTR);
  if (received < 0) return -errno;
  if (message.msg_flags & MSG_TRUNC) return -EMSGSIZE;
  return received;
}

static int memory_file(const char *name, unsigned flags) {
  int file = memfd_create(name, MFD_CLOEXEC | memfd_noexec_seal | flags);
  // Kernels before 6.3 do not know the flag.
  if (file < 0 && errno == EINVAL) file = memfd_create(name, MFD_CLOEXEC | flags);
  return file < 0 ? -errno : file;
}

int reel_memory_file(const char *name) { return memory_file(name, MFD_ALLOW_SEALING); }

int reel_seal_memory_file(int file) {
  return fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 ? 0 : errno;
}

int reel_channel_secret(void *bytes, size_t count) {
  // Up to 256 bytes are never returned in part.
  if (getrandom(bytes, count, 0) != (ssize_t)count) return -EIO;
  int file = memory_file("reel-receipt", 0);
  if (file < 0) return file;
  if (pwrite(file, bytes, count, 0) == (ssize_t)count) return file;
  int error = errno;
  close(file);
  return -error;
}

int reel_channel_sealed(const void *bytes, size_t count) {
  int file = reel_memory_file("reel-pixels");
  if (file < 0) return file;
  size_t written = 0;
  while (written < count) {
    ssize_t result = pwrite(file, (const char *)bytes + written, count - written, (off_t)written);
    if (result < 0 && errno == EINTR) continue;
    if (result <= 0) break;
    written += (size_t)result;
  }
  int error = errno ? errno : EIO;
  if (written == count) error = reel_seal_memory_file(file);
  if (error == 0) return file;
  close(file);
  return -error;
}

int reel_channel_wait(int channel, int milliseconds) {
  struct pollfd wanted = {.fd = channel, .events = POLLIN};
  int ready = poll(&wanted, 1, milliseconds);
  return ready < 0 ? -errno : ready;
}
