import ReelCore

/// What a Matroska file states about one video track's pictures (RFC 9559, 5.1.4.1.28): their size, what is cropped
/// at their edges, and how large the rest is shown.
struct MatroskaVideoTrack: Hashable {
  /// The width in pixels, as coded; nil if the file does not state it. Likewise the height.
  private(set) var width: Int?
  private(set) var height: Int?
  /// The pixels that are cropped at each side.
  private(set) var left = 0
  private(set) var right = 0
  private(set) var top = 0
  private(set) var bottom = 0
  /// The displayed size in `displayUnit`s; nil for the default, which is the size after cropping.
  private(set) var displayWidth: Int?
  private(set) var displayHeight: Int?
  private(set) var displayUnit = 0
  /// How the pictures for two eyes are arranged within one (5.1.4.1.28.3); 0 for one eye.
  private(set) var stereoMode = 0

  private static let videoType = 1

  /// Whether anything is cropped.
  var isCropped: Bool { left + right + top + bottom > 0 }

  /// Returns the video tracks of a segment, in the order of the file; none if they are behind the first cluster.
  static func all(in segment: EBMLElement, of file: some ByteReading) -> [MatroskaVideoTrack] {
    entries(in: segment, of: file).compactMap { track($0, in: file) }
  }

  private static func entries(in segment: EBMLElement, of file: some ByteReading) -> [EBMLElement] {
    MatroskaTrackList(in: segment, of: file).own
  }

  /// Returns nil for a track of another type, and for one without a codec, of which FFmpeg makes no stream.
  private static func track(_ entry: EBMLElement, in file: some ByteReading) -> MatroskaVideoTrack? {
    let parts = entry.children(in: file)
    guard parts.contains(where: { $0.id == MatroskaID.trackType && number($0, in: file) == videoType }),
      parts.contains(where: { $0.id == MatroskaID.codec })
    else { return nil }
    var track = MatroskaVideoTrack()
    for video in parts where video.id == MatroskaID.video {
      for element in video.children(in: file) { track.take(element, in: file) }
    }
    return track
  }

  private mutating func take(_ element: EBMLElement, in file: some ByteReading) {
    guard let number = Self.number(element, in: file) else { return }
    switch element.id {
    case 0xB0: width = number
    case 0xBA: height = number
    case 0x54AA: bottom = number
    case 0x54BB: top = number
    case 0x54CC: left = number
    case 0x54DD: right = number
    case 0x54B0: displayWidth = number
    case 0x54BA: displayHeight = number
    case 0x54B2: displayUnit = number
    case 0x53B8: stereoMode = number
    default: break
    }
  }

  /// Returns nil for anything that can't be a number of pixels.
  static func number(_ element: EBMLElement, in file: some ByteReading) -> Int? {
    guard let number = element.number(in: file), number <= 1 << 20 else { return nil }
    return Int(number)
  }
}
