import ReelModel

/// The container that a file's first bytes show, by the plainest of rules; enough for files of known kinds.
/// Nil for what is none of Reel's containers.
func containerByFirstBytes(_ bytes: [UInt8]) -> MediaContainer? {
  func has(_ text: String, at offset: Int) -> Bool {
    bytes.count >= offset + text.utf8.count && bytes[offset...].starts(with: text.utf8)
  }
  let boxes = ["ftyp", "styp", "moov", "mdat", "moof", "wide", "free", "skip", "sidx", "pnot"]
  if boxes.contains(where: { has($0, at: 4) }) { return has("qt  ", at: 8) ? .mov : .mp4 }
  if bytes.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return .matroska }
  if has("RIFF", at: 0), has("AVI ", at: 8) { return .avi }
  if has("FLV", at: 0) { return .flv }
  if has("OggS", at: 0) { return .ogg }
  if bytes.starts(with: [0x30, 0x26, 0xB2, 0x75]) { return .asf }
  if bytes.starts(with: [0x06, 0x0E, 0x2B, 0x34]) { return .mxf }
  if bytes.starts(with: [0, 0, 1, 0xBA]) { return .mpegPS }
  if bytes.count > 376, bytes[0] == 0x47, bytes[188] == 0x47, bytes[376] == 0x47 { return .mpegTS }
  if bytes.count > 388, bytes[4] == 0x47, bytes[196] == 0x47, bytes[388] == 0x47 { return .m2ts }
  return nil
}
