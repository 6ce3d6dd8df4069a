#include <errno.h>
#include <stddef.h>

// Takes the place of the C library's function for every library of a program that links this room, and refuses.
//
// FFmpeg's MPEG-TS demuxer converts the names of services, which Reel does not ask for; the C library opens its
// conversion tables and loads a library for that, which a confined process may not do. Refused, FFmpeg keeps the
// name as it is (getstr8 in libavformat/mpegts.c).
//
// In C, because Swift gives its functions a visibility with which they replace nothing.
void *iconv_open(const char *to, const char *from);

void *iconv_open(const char *to, const char *from) {
  (void)to;
  (void)from;
  errno = EINVAL;
  return (void *)-1;
}
