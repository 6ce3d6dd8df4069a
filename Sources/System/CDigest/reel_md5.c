#include <string.h>

#include "CDigest.h"

// One word of each of four digests. In MD5 each step waits for the one before, and four digests side by side take no
// longer than one.
typedef uint32_t four __attribute__((vector_size(16)));

static const uint32_t sines[64] = {
  0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
  0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
  0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
  0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
  0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
  0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
  0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
  0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static inline four word(const uint8_t *const *bytes, size_t offset) {
  four word;
  for (int lane = 0; lane < 4; lane++) {
    uint32_t one;
    memcpy(&one, bytes[lane] + offset, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    one = __builtin_bswap32(one);
#endif
    word[lane] = one;
  }
  return word;
}

#define F(b, c, d) ((d) ^ ((b) & ((c) ^ (d))))
#define G(b, c, d) ((c) ^ ((d) & ((b) ^ (c))))
#define H(b, c, d) ((b) ^ (c) ^ (d))
#define I(b, c, d) ((c) ^ ((b) | ~(d)))

#define STEP(f, a, b, c, d, index, place, shift) \
  do { \
    four sum = a + f(b, c, d) + words[place] + sines[index]; \
    a = b + (sum << (shift) | sum >> (32 - (shift))); \
  } while (0)

#define FOUR_STEPS(f, index, stride, first, r, s, t, u) \
  STEP(f, a, b, c, d, index, ((first) + (stride) * (index)) & 15, r); \
  STEP(f, d, a, b, c, index + 1, ((first) + (stride) * (index + 1)) & 15, s); \
  STEP(f, c, d, a, b, index + 2, ((first) + (stride) * (index + 2)) & 15, t); \
  STEP(f, b, c, d, a, index + 3, ((first) + (stride) * (index + 3)) & 15, u)

#define ROUND(f, index, stride, first, r, s, t, u) \
  FOUR_STEPS(f, index, stride, first, r, s, t, u); \
  FOUR_STEPS(f, index + 4, stride, first, r, s, t, u); \
  FOUR_STEPS(f, index + 8, stride, first, r, s, t, u); \
  FOUR_STEPS(f, index + 12, stride, first, r, s, t, u)

static inline __attribute__((always_inline)) void take(
  uint32_t *const *states, const uint8_t *const *bytes, size_t count
) {
  four state[4];
  for (int place = 0; place < 4; place++)
    for (int lane = 0; lane < 4; lane++) state[place][lane] = states[lane][place];
  for (size_t offset = 0; offset < 64 * count; offset += 64) {
    four words[16];
    for (int place = 0; place < 16; place++) words[place] = word(bytes, offset + 4 * (size_t)place);
    four a = state[0], b = state[1], c = state[2], d = state[3];
    ROUND(F, 0, 1, 0, 7, 12, 17, 22);
    ROUND(G, 16, 5, 1, 5, 9, 14, 20);
    ROUND(H, 32, 3, 5, 4, 11, 16, 23);
    ROUND(I, 48, 7, 0, 6, 10, 15, 21);
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  }
  for (int place = 0; place < 4; place++)
    for (int lane = 0; lane < 4; lane++) states[lane][place] = state[place][lane];
}

#if defined(__x86_64__)
// AVX-512VL rotates in one instruction.
__attribute__((target("avx512vl"))) static void take_with_rotation(
  uint32_t *const *states, const uint8_t *const *bytes, size_t count
) {
  take(states, bytes, count);
}
#endif

void reel_md5_four(uint32_t *const *states, const uint8_t *const *bytes, size_t count) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vl")) return take_with_rotation(states, bytes, count);
#endif
  take(states, bytes, count);
}
