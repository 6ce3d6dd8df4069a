#pragma once

#include <stddef.h>
#include <stdint.h>

// Returns the CRC-64/NVME of bytes whose CRC is `crc` followed by `count` more; that of no bytes is 0. It is that of
// S3's x-amz-checksum-crc64nvme (polynomial 0xAD93D23594C93659, reflected, complemented before and after; "123456789"
// has 0xAE8B14860A799888).
uint64_t reel_crc64(uint64_t crc, const void *_Nullable bytes, size_t count);

// The same without the processor's carry-less multiplication. Tests compare both.
uint64_t reel_crc64_by_table(uint64_t crc, const void *_Nullable bytes, size_t count);

// Adds `count` blocks of 64 bytes from each of four places to four states of MD5 (RFC 1321: A, B, C, D), in parallel.
// Places may be the same, states may not.
void reel_md5_four(
  uint32_t *_Nonnull const *_Nonnull states, const uint8_t *_Nonnull const *_Nonnull bytes, size_t count);
