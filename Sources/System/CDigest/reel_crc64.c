#include <pthread.h>
#include <string.h>

#include "CDigest.h"

// The polynomial, with its lowest power in the highest bit.
static const uint64_t polynomial = 0x9A6C9329AC4BC9B5;

// The contribution of a byte that has 0 to 7 bytes after it.
static uint64_t table[8][256];
static pthread_once_t is_made = PTHREAD_ONCE_INIT;

static void make_table(void) {
  for (unsigned byte = 0; byte < 256; byte++) {
    uint64_t crc = byte;
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ polynomial : crc >> 1;
    table[0][byte] = crc;
  }
  for (unsigned byte = 0; byte < 256; byte++)
    for (int place = 1; place < 8; place++)
      table[place][byte] = table[place - 1][byte] >> 8 ^ table[0][table[place - 1][byte] & 255];
}

static uint64_t load(const uint8_t *bytes) {
  uint64_t word = 0;
  for (int place = 0; place < 8; place++) word |= (uint64_t)bytes[place] << (8 * place);
  return word;
}

// Adds bytes without complementing the CRC before and after.
static uint64_t add(uint64_t crc, const uint8_t *bytes, size_t count) {
  pthread_once(&is_made, make_table);
  for (; count >= 8; bytes += 8, count -= 8) {
    uint64_t word = crc ^ load(bytes);
    crc = 0;
    for (int place = 0; place < 8; place++) crc ^= table[7 - place][word >> (8 * place) & 255];
  }
  for (; count; bytes++, count--) crc = crc >> 8 ^ table[0][(crc ^ *bytes) & 255];
  return crc;
}

uint64_t reel_crc64_by_table(uint64_t crc, const void *bytes, size_t count) { return ~add(~crc, bytes, count); }

#if defined(__x86_64__)
#include <immintrin.h>

// Moves 16 bytes, whose first bit stands for x^127, ahead by `distance` bytes: multiplies them by x^(8 * distance) and
// adds the product to the bytes there. The two halves are multiplied by x^(8 * distance + 63) and x^(8 * distance - 1),
// because the product of two reflected numbers comes out multiplied by x (Gopal and others, "Fast CRC Computation for
// Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009).
__attribute__((target("pclmul,sse2"))) static inline __m128i fold(__m128i value, __m128i powers, __m128i behind) {
  return _mm_xor_si128(
    behind,
    _mm_xor_si128(_mm_clmulepi64_si128(value, powers, 0x00), _mm_clmulepi64_si128(value, powers, 0x11)));
}

__attribute__((target("pclmul,sse2"))) static inline __m128i at(const uint8_t *bytes) {
  return _mm_loadu_si128((const __m128i *)bytes);
}

// x^575 and x^511, for a distance of 64 bytes; x^191 and x^127, for 16 bytes. (Tests compute them.)
static const uint64_t four_on[2] = {0x0C32CDB31E18A84A, 0x62242240ACE5045A};
static const uint64_t one_on[2] = {0xEADC41FD2BA3D420, 0x21E9761E252621AC};

// Does the same for 64 bytes or more.
__attribute__((target("pclmul,sse2"))) static uint64_t add_fast(uint64_t crc, const uint8_t *bytes, size_t count) {
  __m128i value[4];
  for (int lane = 0; lane < 4; lane++) value[lane] = at(bytes + 16 * lane);
  value[0] = _mm_xor_si128(value[0], _mm_cvtsi64_si128((long long)crc));
  const __m128i far = at((const uint8_t *)four_on), near = at((const uint8_t *)one_on);
  for (bytes += 64, count -= 64; count >= 64; bytes += 64, count -= 64) {
    value[0] = fold(value[0], far, at(bytes));
    value[1] = fold(value[1], far, at(bytes + 16));
    value[2] = fold(value[2], far, at(bytes + 32));
    value[3] = fold(value[3], far, at(bytes + 48));
  }
  __m128i all = value[0];
  for (int lane = 1; lane < 4; lane++) all = fold(all, near, value[lane]);
  for (; count >= 16; bytes += 16, count -= 16) all = fold(all, near, at(bytes));
  uint8_t rest[16];
  _mm_storeu_si128((__m128i *)rest, all);
  return add(add(0, rest, 16), bytes, count);
}

uint64_t reel_crc64(uint64_t crc, const void *bytes, size_t count) {
  if (count < 64 || !__builtin_cpu_supports("pclmul")) return reel_crc64_by_table(crc, bytes, count);
  return ~add_fast(~crc, bytes, count);
}
#else
uint64_t reel_crc64(uint64_t crc, const void *bytes, size_t count) { return reel_crc64_by_table(crc, bytes, count); }
#endif
