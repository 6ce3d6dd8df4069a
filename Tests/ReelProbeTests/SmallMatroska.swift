/// A small Matroska file, assembled element by element: one track with frames of 40 ms, of VP8 unless ``codec`` names
/// another codec.
struct SmallMatroska {
  /// The width that the track states.
  var width = 64
  var height = 48
  /// The size that the pictures state; nil for the same.
  var picture: (Int, Int)?
  /// Left, right, top and bottom; nil omits the elements.
  var crop: (Int, Int, Int, Int)?
  /// Width, height and unit of the display; nil omits the elements.
  var display: (Int, Int, Int)?
  /// The layout of stereoscopic views within a picture; nil omits the element.
  var stereoMode: Int?
  var frames = 50
  /// The size of each frame in bytes, at least 10.
  var frameSize = 100
  /// The name of a codec other than VP8, its record, and the contents of each block.
  var codec: (name: String, record: [UInt8], frame: [UInt8])?
  /// Subtitles in a separate track, one per second.
  var texts: [String] = []
  /// The number of other, uncropped video tracks before it.
  var tracksBefore = 0

  /// Additional elements in the segment's information, such as `PrevUUID`.
  var information: [UInt8] = []
  /// Additional elements between the tracks and the clusters.
  var beforeClusters: [UInt8] = []
  /// Elements after the clusters; a seek head refers to the first one.
  var behindClusters: [UInt8] = []

  var bytes: [UInt8] {
    let header = Self.element(
      0x1A45_DFA3, Self.text(0x4282, "matroska") + Self.number(0x4287, 4) + Self.number(0x4285, 2))
    let information = Self.element(
      0x1549_A966,
      Self.number(0x2AD7B1, 1_000_000) + Self.real(0x4489, Double(frames * 40)) + Self.text(0x4D80, "test")
        + Self.text(0x5741, "test") + self.information)
    let plain = SmallMatroska(width: width, height: height)
    let entries =
      (0..<tracksBefore).flatMap { plain.track($0 + 1, isDefault: false) }
      + track(tracksBefore + 1, isDefault: true) + (texts.isEmpty ? [] : textTrack)
    let tracks = Self.element(0x1654_AE6B, entries)
    let content = information + tracks + beforeClusters + clusters
    return header + Self.element(0x1853_8067, seekHead(before: content) + content + behindClusters)
  }

  private func seekHead(before content: [UInt8]) -> [UInt8] {
    guard !behindClusters.isEmpty else { return [] }
    // A four-byte ID and an eight-byte position.
    func head(_ position: Int) -> [UInt8] {
      let entry =
        Self.element(0x53AB, Array(behindClusters.prefix(4))) + Self.element(0x53AC, Self.wide(position))
      return Self.element(0x114D_9B74, Self.element(0x4DBB, entry))
    }
    return head(head(0).count + content.count)
  }

  private static func wide(_ value: Int) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }
  }

  private func track(_ number: Int, isDefault: Bool) -> [UInt8] {
    var video = Self.number(0xB0, width) + Self.number(0xBA, height)
    if let crop {
      video += Self.number(0x54CC, crop.0) + Self.number(0x54DD, crop.1) + Self.number(0x54BB, crop.2)
      video += Self.number(0x54AA, crop.3)
    }
    if let display {
      video +=
        Self.number(0x54B0, display.0) + Self.number(0x54BA, display.1) + Self.number(0x54B2, display.2)
    }
    if let stereoMode { video += Self.number(0x53B8, stereoMode) }
    return Self.element(
      0xAE,
      Self.number(0xD7, number) + Self.number(0x73C5, number) + Self.number(0x83, 1)
        + Self.number(0x88, isDefault ? 1 : 0) + Self.text(0x86, codec?.name ?? "V_VP8")
        + (codec.map { Self.element(0x63A2, $0.record) } ?? [])
        + Self.number(0x23E383, 40_000_000) + Self.element(0xE0, video))
  }

  private var textTrack: [UInt8] {
    Self.element(
      0xAE,
      Self.number(0xD7, tracksBefore + 2) + Self.number(0x73C5, tracksBefore + 2) + Self.number(0x83, 17)
        + Self.text(0x86, "S_TEXT/UTF8"))
  }

  private func text(inSecond second: Int) -> [UInt8] {
    guard texts.indices.contains(second) else { return [] }
    let block = [0x80 | UInt8(tracksBefore + 2), 0, 0, 0] + Array(texts[second].utf8)
    return Self.element(0xA0, Self.element(0xA1, block) + Self.number(0x9B, 900))
  }

  /// One cluster per second.
  private var clusters: [UInt8] {
    stride(from: 0, to: frames, by: 25).flatMap { first -> [UInt8] in
      let blocks = (first..<min(first + 25, frames)).flatMap { block($0, since: first) }
      return Self.element(
        0x1F43_B675, Self.number(0xE7, first * 40) + blocks + text(inSecond: first / 25))
    }
  }

  private func block(_ frame: Int, since first: Int) -> [UInt8] {
    let time = (frame - first) * 40
    let head: [UInt8] = [
      0x80 | UInt8(tracksBefore + 1), UInt8(time >> 8), UInt8(time & 0xFF), 0x80,
    ]
    return Self.element(0xA3, head + (codec?.frame ?? keyFrame))
  }

  /// The header of a VP8 key frame (RFC 6386, 9.1), without anything to decode.
  private var keyFrame: [UInt8] {
    let (width, height) = picture ?? (width, height)
    let head: [UInt8] = [
      0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, UInt8(width & 0xFF), UInt8(width >> 8), UInt8(height & 0xFF),
      UInt8(height >> 8),
    ]
    return head + [UInt8](repeating: 0, count: max(0, frameSize - head.count))
  }

  static func element(_ id: UInt32, _ contents: [UInt8]) -> [UInt8] {
    let length = UInt64(contents.count) | 1 << 56
    return bytes(UInt64(id)) + bytes(length) + contents
  }

  static func number(_ id: UInt32, _ value: Int) -> [UInt8] {
    element(id, bytes(UInt64(value)))
  }

  private static func real(_ id: UInt32, _ value: Double) -> [UInt8] {
    element(id, (0..<8).map { UInt8(truncatingIfNeeded: value.bitPattern >> (56 - 8 * UInt64($0))) })
  }

  static func text(_ id: UInt32, _ text: String) -> [UInt8] { element(id, Array(text.utf8)) }

  /// Big-endian, without leading zeros, at least one byte.
  private static func bytes(_ value: UInt64) -> [UInt8] {
    let all = (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * UInt64($0))) }
    return Array(all.drop { $0 == 0 }.isEmpty ? [0] : all.drop { $0 == 0 })
  }
}
