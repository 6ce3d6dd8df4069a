import Foundation

/// A real file for a rule: a sample, or one made from a sample.
struct RuleFile: Sendable {
  private let names: [String]
  private let make: @Sendable (URL) throws -> Void

  private init(_ names: [String], _ make: @escaping @Sendable (URL) throws -> Void) {
    self.names = names
    self.make = make
  }

  /// Makes the file, or the files, in `folder`.
  func place(in folder: URL) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for name in names { try make(folder.appendingPathComponent(name)) }
  }

  /// A sample such as `clips/faststart.mp4`, under its own or other names, with its bytes changed or not.
  static func sample(
    _ path: String, as names: String..., change: @escaping @Sendable (inout [UInt8]) -> Void = { _ in }
  ) -> RuleFile {
    let own = path.split(separator: "/").last.map(String.init) ?? path
    return RuleFile(names.isEmpty ? [own] : names) { place in
      var bytes = [UInt8](try Data(contentsOf: Workbench.sample(path)))
      change(&bytes)
      try Data(bytes).write(to: place)
    }
  }

  /// A clip and its sidecar.
  static func clip(withSidecar text: String) -> RuleFile {
    RuleFile(["a.mp4"]) { place in
      try Data(contentsOf: Workbench.sample("clips/faststart.mp4")).write(to: place)
      try Data(text.utf8).write(to: place.deletingPathExtension().appendingPathExtension("json"))
    }
  }

  static func bytes(_ bytes: [UInt8], as name: String) -> RuleFile {
    RuleFile([name]) { try Data(bytes).write(to: $0) }
  }

  static let link = RuleFile(["a.mp4"]) { place in
    try FileManager.default.createSymbolicLink(atPath: place.path, withDestinationPath: "/nowhere")
  }
}

/// Changes to a sample's bytes.
enum RepairSession {
  /// Returns the last position of `text`.
  private static func last(_ text: String, in bytes: [UInt8]) -> Int? {
    let wanted = Array(text.utf8)
    return bytes.indices.reversed().first { bytes[$0...].starts(with: wanted) }
  }

  private static func set(_ bytes: inout [UInt8], at offset: Int, _ new: [UInt8]) {
    bytes.replaceSubrange(offset..<(offset + new.count), with: new)
  }

  /// Makes the movie header state a duration a thousand times as long (ISO/IEC 14496-12, 8.2.2).
  static func claimLong(_ bytes: inout [UInt8]) {
    guard let header = last("mvhd", in: bytes) else { return }
    set(&bytes, at: header + 20, [0, 0x20, 0, 0])
  }

  /// Sets another format in the sample entry, and another size there and in the track header.
  static func setEntry(_ bytes: inout [UInt8], _ format: String, size: (UInt8, UInt8)?) {
    guard let entry = last("avc1", in: bytes) else { return }
    set(&bytes, at: entry, Array(format.utf8))
    guard let size else { return }
    set(&bytes, at: entry + 28, [0, size.0, 0, size.1])
    let tracks = bytes.indices.filter { bytes[$0...].starts(with: "tkhd".utf8) }
    guard let track = tracks.first else { return }
    set(&bytes, at: track + 80, [0, size.0, 0, 0, 0, size.1, 0, 0])
  }

  /// Makes every audio frame state two channels (ISO/IEC 11172-3, 2.4.2.3, mode).
  static func makeStereo(_ bytes: inout [UInt8]) {
    for place in bytes.indices.dropLast(3) where bytes[place...].starts(with: [0xFF, 0xFD]) {
      // With padding, or without.
      if bytes[place + 2] & 0xFD == 0x40, bytes[place + 3] == 0xC4 { bytes[place + 3] = 0x04 }
    }
  }

  /// Zeros the timestamps of an FLV's tags of the given `kinds` (9 is video, 8 is audio), and removes the metadata
  /// `key`.
  static func forgetTimes(_ bytes: inout [UInt8], of kinds: Set<UInt8>, _ key: String) {
    if let place = last(key, in: bytes) { bytes[place] = UInt8(ascii: "x") }
    var tag = 13
    while tag + 11 < bytes.count {
      if kinds.contains(bytes[tag]) { set(&bytes, at: tag + 4, [0, 0, 0, 0]) }
      tag += 15 + Int(bytes[tag + 1]) << 16 + Int(bytes[tag + 2]) << 8 + Int(bytes[tag + 3])
    }
  }

  /// Appends the beginning of a C2PA manifest in its box.
  static func addManifest(_ bytes: inout [UInt8]) {
    let name: [UInt8] = [
      0xD8, 0xFE, 0xC3, 0xD6, 0x1B, 0x0E, 0x48, 0x3C, 0x92, 0x97, 0x58, 0x28, 0x87, 0x7E, 0xC4, 0x81,
    ]
    bytes +=
      [0, 0, 0, 49] + Array("uuid".utf8) + name + [0, 0, 0, 0] + Array("manifest".utf8)
      + [UInt8](repeating: 0, count: 9)
      + [0, 0, 0, 0]
  }

  static func addTail(_ bytes: inout [UInt8], _ number: UInt8) {
    bytes += [0, 0, 0, 9] + Array("free".utf8) + [number]
  }
}
