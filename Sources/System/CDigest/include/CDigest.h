#pragma once

#include <stddef.h>
#include <stdint.h>

// CRC-64/NVME, as S3's x-amz-checksum-crc64nvme has it (polynomial 0xAD93D23594C93659, reflected, complemented before and
// after; "123456789" has 0xAE8B14860A799888): that of some bytes and `count` more. That of none is 0.
uint64_t reel_crc64(uint64_t crc, const void *_Nullable bytes, size_t count);

// The same without the processor's carry-less multiplication, which tests hold against it.
uint64_t reel_crc64_by_table(uint64_t crc, const void *_Nullable bytes, size_t count);

// Takes `count` blocks of 64 bytes from each of four places into four states of MD5 (RFC 1321: A, B, C, D), side by side.
// Places may be the same, states not.
void reel_md5_four(
  uint32_t *_Nonnull const *_Nonnull states, const uint8_t *_Nonnull const *_Nonnull bytes, size_t count);
