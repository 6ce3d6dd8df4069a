#pragma once

#include <stddef.h>
#include <stdint.h>

// A digest of 128 bits (XXH3, https://github.com/Cyan4973/xxHash): fast, and unforgeable only for who does not know its seed.
typedef struct reel_xxhash reel_xxhash;

// NULL without memory.
reel_xxhash *_Nullable reel_xxhash_new(uint64_t seed);

void reel_xxhash_free(reel_xxhash *_Nonnull hash);

void reel_xxhash_add(reel_xxhash *_Nonnull hash, const void *_Nullable bytes, size_t count);

// Of everything that was added.
void reel_xxhash_digest(const reel_xxhash *_Nonnull hash, uint8_t digest[_Nonnull 16]);
