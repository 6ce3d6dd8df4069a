import CFFmpeg
import ReelCore

/// What the first packets of one of MPEG's multiplexes say themselves (ISO/IEC 13818-1, 2.4.3.6): of what kind they
/// are, and how large pictures of MPEG-1 and MPEG-2 are.
struct MultiplexBeginning: Hashable {
  /// The kinds of streams, by packet identifier; only for a transport stream.
  private var kinds: [Int: UInt8] = [:]
  /// The sizes in the first sequence header and in the next.
  private(set) var sizes: [PixelSize] = []

  /// The stream types in the first map of a program stream (2.5.4), by the number of the stream.
  private var types: [UInt8: UInt8] = [:]

  private static let looked = 512 << 10

  init(_ file: some ByteReading, stride: Int?) {
    let bytes = file.bytes(at: 0, count: file.isFar ? Self.looked / 8 : Self.looked)
    bytes.withUnsafeBufferPointer { bytes in
      guard let stride else {
        takeMap(bytes)
        return takeSizes(bytes, in: bytes.indices)
      }
      takeKinds(bytes, stride)
      // A header that continues in the next packet does not count: that packet's own header would be read as a part
      // of it.
      for place in TransportPackets.Places(bytes, stride: stride) {
        takeSizes(bytes, in: (place + 4)..<min(bytes.count, place + TransportPackets.length))
      }
    }
  }

  /// Whether packets of a stream say that they are of pictures, rather than of sound; nil for other kinds, and if
  /// none was found.
  func isOfPictures(_ id: Int) -> Bool? {
    switch kinds[id] {
    case .some(0xE0...0xEF): true
    case .some(0xC0...0xDF): false
    default: nil
    }
  }

  /// Returns the sound of a program stream whose map names a codec of surveillance cameras; nil for any other.
  /// FFmpeg takes it for MPEG audio.
  func surveillanceSound(_ number: UInt8) -> AudioFacts? {
    types[number].flatMap { Self.surveillanceSound(type: $0) }
  }

  /// Returns what a stream type of surveillance cameras (GB/T 28181, annex C) says about a sound; nil for any other
  /// type.
  static func surveillanceSound(type: UInt8) -> AudioFacts? {
    switch type {
    case 0x90: AudioFacts(codec: VideoFacts.codecName(AV_CODEC_ID_PCM_ALAW))
    case 0x91: AudioFacts(codec: VideoFacts.codecName(AV_CODEC_ID_PCM_MULAW))
    // G.722.1, G.723.1, G.729 and SVAC.
    case 0x92, 0x93, 0x99, 0x9B: AudioFacts()
    default: nil
    }
  }

  private mutating func takeMap(_ bytes: UnsafeBufferPointer<UInt8>) {
    var start = 0
    while start + 4 <= bytes.count, !bytes[start...].starts(with: [0, 0, 1, 0xBC]) {
      start += bytes[start + 2] > 1 ? 3 : 1
    }
    func number(_ place: Int) -> Int? {
      place + 2 <= bytes.count ? Int(bytes[place]) << 8 | Int(bytes[place + 1]) : nil
    }
    guard let length = number(start + 4), let infoLength = number(start + 8),
      let mapLength = number(start + 10 + infoLength)
    else { return }
    var place = start + 12 + infoLength
    let end = min(place + mapLength, start + 6 + length, bytes.count)
    while place + 4 <= end, let infoLength = number(place + 2) {
      types[bytes[place + 1]] = bytes[place]
      place += 4 + infoLength
    }
  }

  private mutating func takeKinds(_ bytes: UnsafeBufferPointer<UInt8>, _ stride: Int) {
    for place in TransportPackets.Places(bytes, stride: stride) {
      // Only a packet in which one of the stream begins, and which is not scrambled.
      guard bytes[place + 1] & 0x40 != 0, bytes[place + 3] & 0xD0 == 0x10 else { continue }
      let contents = place + 4 + (bytes[place + 3] & 0x20 != 0 ? 1 + Int(bytes[place + 4]) : 0)
      guard contents + 4 <= place + TransportPackets.length,
        bytes[contents] == 0, bytes[contents + 1] == 0, bytes[contents + 2] == 1
      else { continue }
      let id = Int(bytes[place + 1] & 0x1f) << 8 | Int(bytes[place + 2])
      if kinds[id] == nil { kinds[id] = bytes[contents + 3] }
    }
  }

  private mutating func takeSizes(_ bytes: UnsafeBufferPointer<UInt8>, in range: Range<Int>) {
    var place = range.lowerBound
    while place + 12 <= range.upperBound, sizes.count < 2 {
      if bytes[place + 2] > 1 {
        place += 3
        continue
      }
      let unit = bytes[place...].prefix(12)
      if unit.starts(with: [0, 0, 1, 0xB3]), CodecSign.isMPEGSequence(ArraySlice(unit.dropFirst(3))) {
        let (high, low) = (Int(bytes[place + 5]), Int(bytes[place + 6]))
        sizes.append(
          PixelSize(width: Int(bytes[place + 4]) << 4 | high >> 4, height: (high & 15) << 8 | low))
      }
      place += 1
    }
  }
}
