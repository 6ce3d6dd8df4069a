/// Data that programs keep, which one pattern tells.
let dataSignatures: [Signature] = [
  Signature(.text("SQLite format 3\u{0}"), refuse: .notMedia("an SQLite database")),
  Signature(.bytes(0, 5, 0x16, 7), refuse: .notMedia("an AppleDouble file")),
  Signature(.bytes(0, 5, 0x16, 0), refuse: .notMedia("an AppleSingle file")),
  Signature(.bytes(0, 0, 0, 1), .text("Bud1", at: 4), refuse: .notMedia("a folder's .DS_Store")),
  Signature(.text("bplist0"), refuse: .notMedia("a property list")),
  Signature(.bytes(0x89), .text("HDF\r\n\u{1A}\n", at: 1), refuse: .notMedia("an HDF5 file")),
  Signature(.text("PAR1\u{15}"), refuse: .notMedia("a Parquet file")),
  Signature(.bytes(0xD4, 0xC3, 0xB2, 0xA1), refuse: .notMedia("a network capture")),
  Signature(.bytes(0xA1, 0xB2, 0xC3, 0xD4), refuse: .notMedia("a network capture")),
  Signature(.bytes(0x0A, 0x0D, 0x0D, 0x0A), refuse: .notMedia("a network capture")),
  Signature(.text("Salted__"), refuse: .notMedia("an encrypted file")),
  Signature(.text("age-encryption.org/"), refuse: .notMedia("an encrypted file")),
]
