#include <errno.h>
#include <stddef.h>

// Replaces the C library's function for every library of a program that links this module, and refuses every
// conversion.
//
// FFmpeg's MPEG-TS demuxer converts the names of services, which Reel does not use. For that, the C library would open
// its conversion tables and load a library, which a confined process may not do. If the conversion is refused, FFmpeg
// keeps the name as it is (getstr8 in libavformat/mpegts.c).
//
// This is in C because Swift gives its functions a visibility with which they replace nothing.
void *iconv_open(const char *to, const char *from);

void *iconv_open(const char *to, const char *from) {
  (void)to;
  (void)from;
  errno = EINVAL;
  return (void *)-1;
}
