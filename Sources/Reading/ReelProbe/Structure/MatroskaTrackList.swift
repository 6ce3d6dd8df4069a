/// The tracks that a Matroska file lists before its first cluster (RFC 9559, 5.1.4). The list may be repeated there,
/// and then has to say the same each time.
struct MatroskaTrackList: Hashable {
  /// A track's number, by which blocks refer to it, and its type.
  struct Number: Hashable {
    let number: Int
    let type: Int
    /// The nanoseconds from one frame to the next, as the track states them.
    let frameDuration: UInt64?
    /// Whether its frames are stored in another form, such as compressed or encrypted (5.1.4.1.31).
    let isEncoded: Bool
  }

  /// The tracks, each once, without repetitions.
  let own: [EBMLElement]
  /// The tracks of which FFmpeg makes streams, in the order in which it makes them, including repetitions.
  let made: [Number]
  /// Whether a track is listed twice, and not alike, or another list has other tracks.
  let contradictsItself: Bool
  /// The numbers of all tracks.
  let numbers: Set<Int>
  let misnamed: MisnamedTracks

  /// The bytes of a track that are compared with those of another.
  private static let compared: Int64 = 1 << 16

  init(in segment: EBMLElement, of file: some ByteReading) {
    var (own, made, contradicts): ([EBMLElement], [Number], Bool) = ([], [], false)
    var known: [Int: EBMLElement] = [:]
    var (lists, misnamed) = (0, MisnamedTracks())
    for list in segment.children(in: file) {
      if list.id == MatroskaID.cluster { break }
      guard list.id == MatroskaID.tracks else { continue }
      lists += 1
      for entry in list.children(in: file) where entry.id == MatroskaID.entry {
        let parts = entry.children(in: file)
        let type = Self.value(MatroskaID.trackType, parts, file)
        // The prefix of a codec ID tells its kind (RFC 9559, 5.1.4.1.21).
        switch parts.first(where: { $0.id == MatroskaID.codec }).map({ file.bytes(at: $0.contents, count: 2) }
        ) {
        case Array("V_".utf8) where type != 1: misnamed.pictures = true
        case Array("A_".utf8) where type != 2: misnamed.sound = true
        default: break
        }
        if let number = Self.number(parts, in: file), Self.streamed.contains(number.type) {
          made.append(number)
        }
        guard let name = Self.value(MatroskaID.trackNumber, parts, file) else {
          own.append(entry)
          continue
        }
        if let first = known[name] {
          if Self.beginning(of: first, file) != Self.beginning(of: entry, file) { contradicts = true }
          continue
        }
        if lists > 1 { contradicts = true }
        known[name] = entry
        own.append(entry)
      }
    }
    (self.own, self.made, contradictsItself) = (own, made, contradicts)
    (numbers, self.misnamed) = (Set(known.keys), misnamed)
  }

  private static func beginning(of entry: EBMLElement, _ file: some ByteReading) -> [UInt8] {
    file.bytes(
      at: entry.contents, count: Int(min((entry.end ?? entry.contents) - entry.contents, compared)))
  }

  /// Types of tracks (5.1.4.1.3): pictures; subtitles and metadata.
  static let video = 1
  static let (subtitles, metadata) = (17, 33)
  static let texts: Set<Int> = [subtitles, metadata]
  private static let streamed = texts.union([video, 2])

  /// Returns nil for a track without a codec, of which FFmpeg makes no stream.
  private static func number(_ parts: [EBMLElement], in file: some ByteReading) -> Number? {
    guard parts.contains(where: { $0.id == MatroskaID.codec }),
      let number = value(MatroskaID.trackNumber, parts, file),
      let type = value(MatroskaID.trackType, parts, file)
    else { return nil }
    let duration = parts.first { $0.id == MatroskaID.defaultDuration }?.number(in: file)
    return Number(
      number: number, type: type, frameDuration: duration.flatMap { $0 > 0 ? $0 : nil },
      isEncoded: parts.contains { $0.id == MatroskaID.contentEncodings })
  }

  private static func value(_ id: UInt32, _ parts: [EBMLElement], _ file: some ByteReading) -> Int? {
    parts.first { $0.id == id }.flatMap { MatroskaVideoTrack.number($0, in: file) }
  }
}
