import CFFmpeg
import ReelCore

/// A place in an ISO base media file or an AVI at which its index lists a picture and there is none, while the first
/// picture is there: a part of the file was lost, repeated or replaced by a transfer.
struct StrayPicture {
  let position: Int64

  var warning: MediaWarning {
    MediaWarning(
      .indexMismatch,
      "its index lists a picture at byte \(position), where there is none: a part of it was lost, repeated or replaced"
    )
  }

  /// Looks at pictures that are spread evenly, from the first to the last, or at all. Returns nil if they are in their
  /// places or can't be told from other bytes, and for a remote file, where each look would be a request.
  static func found(
    in file: BoundedSource, _ structure: FileStructure, _ streams: StreamChoice, amongAll: Bool = false
  ) -> StrayPicture? {
    guard !file.isFar, structure.encrypted != true, let stream = streams.video,
      let parameters = stream.pointee.codecpar
    else { return nil }
    let places = places(of: stream, structure.iso?.fragmentTable, in: file) {
      numbers(of: $0, amongAll ? mostLooks : looks)
    }
    if structure.avi != nil { return firstStray(of: places) { Self.hasChunk($0, in: file) } }
    guard structure.iso?.external == false,
      // Pictures with another entry may be of another codec.
      MovieTracks(structure)?.track(of: stream)?.hasSeveralEntries == false
    else { return nil }
    let signs = PictureSigns(parameters, file)
    return firstStray(of: places) { signs.isPicture($0) }
  }

  private static func firstStray(
    of places: [Range<Int64>], isPicture: (Range<Int64>) -> Bool
  ) -> StrayPicture? {
    guard let first = places.first, isPicture(first) else { return nil }
    return places.dropFirst().first { !isPicture($0) }.map { StrayPicture(position: $0.lowerBound) }
  }

  /// Whether there is the name of a chunk of an AVI's stream, which begins with the stream's number.
  private static func hasChunk(_ place: Range<Int64>, in file: BoundedSource) -> Bool {
    let name = file.bytes(at: place.lowerBound, count: 4)
    return name.count == 4 && name[..<2].allSatisfy { (0x30..<0x3A).contains($0) }
      && name[2...].allSatisfy { (0x20..<0x7F).contains($0) }
  }

  /// The number of steps between the pictures to look at.
  private static let looks = 16
  private static let mostLooks = 1 << 20
  /// The smallest sample to look at: writers use shorter ones as placeholders.
  fileprivate static let leastSample: Int64 = 8

  /// Returns where the samples are whose numbers `chosen` returns, given how many there are.
  static func places(
    of stream: StreamChoice.Stream, _ fragments: MovieFragments?, in file: BoundedSource,
    _ chosen: (Int) -> [Int]
  ) -> [Range<Int64>] {
    let found: [Range<Int64>]
    if let fragments {
      let runs = fragments.sampleRuns[UInt32(truncatingIfNeeded: stream.pointee.id)] ?? []
      found = runs.ranges(of: chosen(runs.samples), in: file)
    } else {
      found = chosen(Int(avformat_index_get_entries_count(stream))).compactMap {
        let entry = reel_index_entry(stream, Int32(clamping: $0))
        return entry.position >= 0
          ? entry.position..<entry.position.addingClamped(Int64(max(0, entry.size))) : nil
      }
    }
    return found.filter { $0.upperBound - $0.lowerBound >= leastSample && $0.upperBound <= file.size }
  }

  /// Returns the numbers of the pictures to look at, from 0 on, in order; none of a single picture. Fragments may claim
  /// so many that a product would be no whole number.
  static func numbers(of count: Int, _ looks: Int) -> [Int] {
    let steps = min(looks, count - 1)
    guard steps > 0 else { return [] }
    let (whole, rest) = (count - 1).quotientAndRemainder(dividingBy: steps)
    return (0...steps).map { $0 * whole + $0 * rest / steps }
  }
}

/// What tells whether the bytes at a place are a picture of a codec.
private struct PictureSigns {
  private let codec: AVCodecID
  private let record: [UInt8]
  /// The number of bytes of the length before each NAL unit; nil if there are no lengths.
  private let lengthSize: Int?
  private let file: BoundedSource

  init(_ parameters: UnsafeMutablePointer<AVCodecParameters>, _ file: BoundedSource) {
    (codec, record) = (parameters.pointee.codec_id, BitstreamHeader.extradata(of: parameters))
    lengthSize =
      switch codec {
      case AV_CODEC_ID_H264: AVCConfiguration(record)?.lengthSize
      case AV_CODEC_ID_HEVC: HEVCConfiguration(record)?.lengthSize
      default: nil
      }
    self.file = file
  }

  /// The most bytes of a picture to read; no fewer than all of them tell a unit of AV1.
  private static let mostBytes: Int64 = 4096
  private static let mostOfUnits: Int64 = 256 << 10
  private static let mostUnits = 256

  /// True if nothing tells.
  func isPicture(_ place: Range<Int64>) -> Bool {
    if let lengthSize { return hasUnits(place, lengthSize) }
    let most = codec == AV_CODEC_ID_AV1 ? Self.mostOfUnits : Self.mostBytes
    let length = place.upperBound - place.lowerBound
    guard length <= most || codec != AV_CODEC_ID_AV1 else { return true }
    let bytes = file.bytes(at: place.lowerBound, count: Int(min(length, most)))
    // A placeholder repeats one byte.
    guard bytes.count >= StrayPicture.leastSample, !bytes.allSatisfy({ $0 == bytes[0] }) else { return true }
    // Only the first picture must have a sequence header, if the record has none.
    if codec == AV_CODEC_ID_AV1 { return CodecSign.isUnit(bytes) }
    return !CodecSign.isMissing(in: bytes, of: codec, record: record)
  }

  /// Whether NAL units fill the place, up to the zeros behind the last one.
  private func hasUnits(_ place: Range<Int64>, _ lengthSize: Int) -> Bool {
    var next = place.lowerBound
    for number in 0..<Self.mostUnits where place.upperBound - next > Int64(lengthSize) {
      let head = file.bytes(at: next, count: lengthSize + 1)
      guard let length = head.number(at: 0, bytes: lengthSize), let kind = head.dropFirst(lengthSize).first
      else { return false }
      if length == 0 { return number > 0 }
      next += Int64(lengthSize) + Int64(length)
      guard kind & 0x80 == 0, next <= place.upperBound else { return false }
    }
    return true
  }
}
