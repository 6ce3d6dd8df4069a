import ReelCore

/// What the headers of an AVI file say (AVIMAINHEADER, AVISTREAMHEADER, BITMAPINFOHEADER, WAVEFORMATEX).
struct AVIHeaders: Hashable {
  struct Stream: Hashable {
    /// `vids`, `auds`, …
    let type: FourCharacterCode
    let scale: UInt32
    let rate: UInt32
    /// The length in ticks of scale / rate seconds.
    let length: UInt32
    /// The number of bytes in one tick; 0 if it varies.
    let sampleSize: UInt32
    /// The format of sound; nil for other streams.
    fileprivate(set) var sound: Sound?
    /// The size of pictures, in pixels.
    fileprivate(set) var size: PixelSize?
    /// The size of the pictures to which the video properties give a shape (`vprp`, OpenDML 1.02).
    fileprivate(set) var shapedSize: PixelSize?

    fileprivate var bytesPerSecond: Double? {
      guard scale > 0, rate > 0, sampleSize > 0 else { return nil }
      return Double(rate) / Double(scale) * Double(sampleSize)
    }

    /// The duration in seconds by its own header; nil if that states none.
    var seconds: Double? {
      guard scale > 0, rate > 0, length > 0 else { return nil }
      return Double(length) * Double(scale) / Double(rate)
    }
  }

  /// Whether a stream of pictures or sound has a length in ticks that have no duration.
  var hasStoppedClock: Bool {
    streams.contains { ["vids", "auds"].contains($0.type) && $0.length > 0 && $0.seconds == nil }
  }

  struct Sound: Hashable {
    let format: Int
    let channels: Int
    let sampleRate: Int
    let bytesPerSecond: Int
    let blockAlign: Int
    let bits: Int

    /// The bytes per second by the header of its stream; nil if that does not state them.
    fileprivate(set) var streamBytesPerSecond: Double?

    /// Formats that store each sample by itself: as integers, as floating-point numbers, as A-law, as µ-law.
    private static let plain: Set<Int> = [1, 3, 6, 7]

    /// Whether the numbers of uncompressed sound contradict one another, or the header of its stream.
    var contradictsItself: Bool {
      if let own = streamBytesPerSecond, bytesPerSecond > 0, Self.plain.contains(format),
        abs(own / Double(bytesPerSecond) - 1) > 0.01
      {
        return true
      }
      guard format == 1, bits > 0 else { return false }
      let block = channels * ((bits + 7) / 8)
      return block != blockAlign || block * sampleRate != bytesPerSecond
    }
  }

  struct Text: Hashable {
    let bytes: [UInt8]
    /// Whether the text continues beyond these bytes.
    let isCut: Bool
  }

  /// The duration of a frame in microseconds; 0 if none is stated.
  private(set) var microseconds: UInt32 = 0
  private(set) var size: PixelSize?
  /// Whether the main header has numbers for a size that can't be one.
  private(set) var hasImpossibleSize = false
  private(set) var streams: [Stream] = []
  /// The range of its pictures and its sound.
  private(set) var movie: Range<Int64>?
  /// Whether an index tells where each of them is.
  private(set) var hasIndex = false
  /// Whether chunks named as pictures are of a stream of another kind, and likewise for sound.
  private(set) var misnamed = MisnamedTracks()
  /// The texts of its `INFO` list.
  private(set) var texts: [FourCharacterCode: Text] = [:]

  private static let mostChunks = 256

  /// Returns nil if there are no headers (`hdrl`).
  init?(_ file: some ByteReading) {
    var headers: Range<Int64>?
    var found: [FourCharacterCode: Text] = [:]
    // A remote file is not read beyond its pictures, so it is assumed to have an index.
    let isFar = file.isFar
    var (movie, hasIndex): (Range<Int64>?, Bool) = (nil, isFar)
    Self.chunks(file, in: 12..<max(12, file.size)) { id, range in
      if id == "idx1" { hasIndex = true }
      guard id == "LIST", range.count >= 4 else { return true }
      switch Self.type(file, range) {
      case "hdrl": headers = range
      case "INFO" where range.count >= 4:
        Self.readTexts(file, (range.lowerBound + 4)..<range.upperBound, into: &found)
      case "movi":
        if movie == nil { movie = (range.lowerBound + 4)..<range.upperBound }
        return !isFar
      default: break
      }
      return true
    }
    guard let headers, headers.count >= 4 else { return nil }
    (texts, self.movie, self.hasIndex) = (found, movie, hasIndex)
    readHeaders(file, (headers.lowerBound + 4)..<headers.upperBound)
    if let movie { noteKinds(file, movie) }
  }

  /// Compares the names of the first chunks, each of which has the number of its stream and its kind, against the
  /// kinds of the streams.
  private mutating func noteKinds(_ file: some ByteReading, _ movie: Range<Int64>) {
    var (left, found) = (Self.chunksOfKinds, misnamed)
    Self.chunks(file, in: movie) { id, _ in
      let name = Array(id.text.utf8)
      left -= 1
      guard name.count == 4, let number = Int(String(decoding: name[..<2], as: UTF8.self)),
        streams.indices.contains(number)
      else { return left > 0 }
      switch String(decoding: name[2...], as: UTF8.self) {
      case "dc", "db": if !["vids", "iavs"].contains(streams[number].type) { found.pictures = true }
      case "wb": if !["auds", "iavs"].contains(streams[number].type) { found.sound = true }
      default: break
      }
      return left > 0
    }
    misnamed = found
  }

  private static let chunksOfKinds = 16

  private static func readTexts(
    _ file: some ByteReading, _ range: Range<Int64>, into found: inout [FourCharacterCode: Text]
  ) {
    chunks(file, in: range) { id, chunk in
      if found[id] == nil {
        let bytes = file.bytes(at: chunk.lowerBound, count: min(Tags.longestValue, chunk.count))
        found[id] = Text(bytes: bytes, isCut: chunk.count > bytes.count)
      }
      return true
    }
  }

  private mutating func readHeaders(_ file: some ByteReading, _ range: Range<Int64>) {
    var found: [Stream] = []
    var (hasIndex, hasImpossibleSize) = (hasIndex, false)
    let length = file.littleEndian(at: 4, width: 4) ?? 0
    let isFinished = length != 0 && length != UInt32.max
    var main = (microseconds: UInt32(0), size: PixelSize?.none)
    Self.chunks(file, in: range) { id, chunk in
      if id == "avih" {
        let bytes = file.bytes(at: chunk.lowerBound, count: 40)
        main = (Self.number(bytes, 0, 4), Self.size(bytes, 32, 36))
        hasImpossibleSize =
          main.size == nil && (Self.number(bytes, 32, 4), Self.number(bytes, 36, 4)) != (0, 0)
      } else if id == "LIST", chunk.count >= 4, Self.type(file, chunk) == "strl" {
        let list = (chunk.lowerBound + 4)..<chunk.upperBound
        if let stream = Self.stream(file, list, isFinished: isFinished) { found.append(stream) }
        Self.chunks(file, in: list) { id, _ in
          if id == "indx" { hasIndex = true }
          return !hasIndex
        }
      }
      return true
    }
    (microseconds, size, streams, self.hasIndex) = (main.microseconds, main.size, found, hasIndex)
    self.hasImpossibleSize = hasImpossibleSize
  }

  /// - Parameter isFinished: whether the file states its own length. Otherwise the lengths of its streams are
  ///   placeholders.
  private static func stream(
    _ file: some ByteReading, _ range: Range<Int64>, isFinished: Bool
  ) -> Stream? {
    var stream: Stream?
    chunks(file, in: range) { id, chunk in
      let bytes = file.bytes(at: chunk.lowerBound, count: Int(min(48, chunk.upperBound - chunk.lowerBound)))
      if id == "strh", bytes.count >= 36 {
        stream = Stream(
          type: FourCharacterCode(bytes), scale: number(bytes, 20, 4), rate: number(bytes, 24, 4),
          length: isFinished ? number(bytes, 32, 4) : 0,
          sampleSize: number(bytes, 44, 4))
      } else if id == "strf", stream?.type == "auds", bytes.count >= 14 {
        func int(_ at: Int, _ width: Int) -> Int { Int(number(bytes, at, width)) }
        stream?.sound = Sound(
          format: int(0, 2), channels: int(2, 2), sampleRate: int(4, 4), bytesPerSecond: int(8, 4),
          blockAlign: int(12, 2), bits: int(14, 2))
        let own = stream?.bytesPerSecond
        stream?.sound?.streamBytesPerSecond = own
      } else if id == "strf", stream?.type == "vids" {
        stream?.size = size(bytes, 4, 8)
      } else if id == "vprp", bytes.count >= 32, number(bytes, 20, 4) != 0 {
        stream?.shapedSize = size(bytes, 24, 28)
      }
      return true
    }
    return stream
  }

  /// Passes one chunk after the other, each with its padding byte, to `look`, until that returns false. Some writers
  /// leave out the padding byte: if no chunk begins after it, but one does before it, that is the next.
  private static func chunks(
    _ file: some ByteReading, in range: Range<Int64>, _ look: (FourCharacterCode, Range<Int64>) -> Bool
  ) {
    var next = range.lowerBound
    for _ in 0..<mostChunks where next + 8 <= range.upperBound {
      let head = file.bytes(at: next, count: 8)
      guard head.count == 8 else { return }
      let (start, size) = (next + 8, Int64(number(head, 4, 4)))
      let end = min(range.upperBound, start + size)
      guard start <= end, look(FourCharacterCode(head), start..<end) else { return }
      next = start + size
      if size % 2 == 1, !isName(file.bytes(at: next, count: 4)) || isName(file.bytes(at: next + 1, count: 4))
      {
        next += 1
      }
    }
  }

  private static func isName(_ bytes: [UInt8]) -> Bool {
    bytes.count == 4 && bytes.allSatisfy { (0x20..<0x7f).contains($0) }
  }

  private static func type(_ file: some ByteReading, _ list: Range<Int64>) -> FourCharacterCode {
    FourCharacterCode(file.bytes(at: list.lowerBound, count: 4))
  }

  private static func number(_ bytes: [UInt8], _ at: Int, _ width: Int) -> UInt32 {
    guard at + width <= bytes.count else { return 0 }
    return bytes[at..<(at + width)].reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  private static func size(_ bytes: [UInt8], _ width: Int, _ height: Int) -> PixelSize? {
    let (width, height) = (
      Int32(bitPattern: number(bytes, width, 4)), Int32(bitPattern: number(bytes, height, 4))
    )
    // Pictures that are stored from the bottom up have a negative height.
    guard width > 0, height != 0, height != .min else { return nil }
    return PixelSize(width: Int(width), height: Int(abs(height)))
  }
}
