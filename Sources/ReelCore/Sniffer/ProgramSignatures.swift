/// Programs that one pattern tells.
let programSignatures: [Signature] = [
  Signature(.bytes(0x7F), .text("ELF", at: 1), refuse: .notMedia("an ELF program")),
  Signature(.bytes(0xFE, 0xED, 0xFA, 0xCE), refuse: .notMedia("a Mach-O program")),
  Signature(.bytes(0xFE, 0xED, 0xFA, 0xCF), refuse: .notMedia("a Mach-O program")),
  Signature(.bytes(0xCE, 0xFA, 0xED, 0xFE), refuse: .notMedia("a Mach-O program")),
  Signature(.bytes(0xCF, 0xFA, 0xED, 0xFE), refuse: .notMedia("a Mach-O program")),
  Signature(.bytes(0xCA, 0xFE, 0xBA, 0xBE), refuse: .notMedia("a Java class or a Mach-O program")),
  Signature(.bytes(0, 0x61, 0x73, 0x6D), refuse: .notMedia("a WebAssembly module")),
  Signature(.text("dex\n"), refuse: .notMedia("an Android program")),
  Signature(.bytes(0x42, 0x43, 0xC0, 0xDE), refuse: .notMedia("LLVM bitcode")),
  // The two bytes alone could be a text's: the header's own size field holds a 4 or more in its low byte.
  Signature(.text("MZ"), .bytes(0, at: 3), refuse: .notMedia("a Windows program")),
  Signature(.text("MZ"), .bytes(0, at: 5), refuse: .notMedia("a Windows program")),
  Signature(.text("MZ"), .bytes(0, at: 7), refuse: .notMedia("a Windows program")),
  Signature(.text("#!"), refuse: .notMedia("a script")),
]
