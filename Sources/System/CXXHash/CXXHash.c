#include "CXXHash.h"

#include <string.h>

// Compiled here, with what the compiler knows of vectors: Debian's library is half as fast.
#define XXH_INLINE_ALL
#include <xxhash.h>

struct reel_xxhash {
  XXH3_state_t state;
};

reel_xxhash *reel_xxhash_new(uint64_t seed) {
  // Its state is aligned more than malloc does.
  reel_xxhash *hash = aligned_alloc(_Alignof(reel_xxhash), sizeof(reel_xxhash));
  if (!hash) return NULL;
  // What is left of another one of the same seed would be taken for its secret.
  XXH3_INITSTATE(&hash->state);
  XXH3_128bits_reset_withSeed(&hash->state, seed);
  return hash;
}

void reel_xxhash_free(reel_xxhash *hash) { free(hash); }

void reel_xxhash_add(reel_xxhash *hash, const void *bytes, size_t count) {
  if (count) XXH3_128bits_update(&hash->state, bytes, count);
}

void reel_xxhash_digest(const reel_xxhash *hash, uint8_t digest[16]) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&hash->state));
  memcpy(digest, canonical.digest, 16);
}
