/// Documents and fonts that one pattern tells.
let documentSignatures: [Signature] = [
  Signature(.text("%PDF-"), refuse: .notMedia("a PDF document")),
  Signature(
    .bytes(0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1),
    refuse: .notMedia("an Office document of the old kind")),
  Signature(.text(#"{\rtf"#), refuse: .notMedia("an RTF document")),
  Signature(.text("%!PS"), refuse: .notMedia("a PostScript document")),
  Signature(.text("AT&TFORM"), refuse: .notMedia("a DjVu document")),
  Signature(.text("OTTO\u{0}"), refuse: .notMedia("a font")),
  Signature(.bytes(0, 1, 0, 0, 0), refuse: .notMedia("a font")),
  Signature(.text("ttcf\u{0}"), refuse: .notMedia("a font")),
  Signature(.text("wOFF"), refuse: .notMedia("a font")),
  Signature(.text("wOF2"), refuse: .notMedia("a font")),
]
