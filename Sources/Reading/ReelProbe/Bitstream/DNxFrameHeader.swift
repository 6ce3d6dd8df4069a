/// The header of a DNxHD or DNxHR frame (SMPTE ST 2019-1, 6) of 4:2:2, with the dimensions that its compression ID
/// fixes.
struct DNxFrameHeader: Hashable {
  /// In pixels.
  let width: Int
  /// In pixels, of both fields together.
  let height: Int
  /// Bits of one component: 8, 10 or 12.
  let bitDepth: Int
  /// The compression ID, such as 1237 for DNxHD 145, or 1272 for DNxHR HQ.
  let compression: Int

  /// Nil for any other kind of frame, and for what a decoder would refuse before it knows the pixel format.
  init?(_ frame: some Collection<UInt8>) {
    let head = Array(frame.prefix(Self.places + 4 * Self.mostRows))
    guard head.count >= Self.shortest, let revision = Self.revision(of: head), head[0x2c] >> 6 & 1 == 0,
      head[7] & 1 == 0
    else { return nil }
    let id = Self.number(head, at: 0x28, bytes: 4)
    let depths = [1: 8, 2: 10, 3: 12]
    guard let bitDepth = depths[Int(head[0x21] >> 5)], let kind = Self.compressions[id],
      kind.bitDepth.map({ $0 == bitDepth }) ?? true, frame.count >= kind.frameSize
    else { return nil }
    let (width, lines) = (
      Self.number(head, at: 0x1a, bytes: 2), Self.number(head, at: 0x18, bytes: 2)
    )
    let rows = Self.number(head, at: 0x16c, bytes: 2)
    let isInterlaced = head[5] & 2 != 0
    // The stated height may be that of one field.
    height = isInterlaced && (lines + 15) >> 4 == rows ? 2 * lines : lines
    guard width > 0, lines > 0, kind.width.map({ $0 == width }) ?? true,
      rows > 0, rows <= (revision == 3 ? Self.mostRows : Self.fewRows),
      rows << (isInterlaced ? 1 : 0) <= (height + 15) >> 4, Self.areRowsThere(head, rows, of: frame.count)
    else { return nil }
    self.width = width
    self.bitDepth = bitDepth
    compression = id
  }

  /// The size of a header in bytes, and the number of rows of macroblocks for which it suffices. DNxHR has a longer
  /// header for taller pictures.
  private static let shortest = 0x280
  private static let fewRows = 68
  private static let mostRows = 512
  /// The position of the table of the rows' offsets, 4 bytes each.
  private static let places = 0x170

  /// What a compression ID fixes; nil where the header may state any value.
  private struct Compression {
    var width: Int?
    var bitDepth: Int?
    /// The minimum size of a frame in bytes.
    var frameSize = 0
  }

  private static let compressions: [Int: Compression] = [
    1235: Compression(width: 1920, bitDepth: 10, frameSize: 917_504),
    1237: Compression(width: 1920, bitDepth: 8, frameSize: 606_208),
    1238: Compression(width: 1920, bitDepth: 8, frameSize: 917_504),
    1241: Compression(width: 1920, bitDepth: 10, frameSize: 917_504),
    1242: Compression(width: 1920, bitDepth: 8, frameSize: 606_208),
    1243: Compression(width: 1920, bitDepth: 8, frameSize: 917_504),
    1250: Compression(width: 1280, bitDepth: 10, frameSize: 458_752),
    1251: Compression(width: 1280, bitDepth: 8, frameSize: 458_752),
    1252: Compression(width: 1280, bitDepth: 8, frameSize: 303_104),
    1253: Compression(width: 1920, bitDepth: 8, frameSize: 188_416),
    1271: Compression(), 1272: Compression(bitDepth: 8), 1273: Compression(bitDepth: 8),
    1274: Compression(bitDepth: 8),
  ]

  /// Whether at least five bytes begin with the prefix of a header, of any revision.
  static func isPrefix(_ head: [UInt8]) -> Bool {
    let size = number(head, at: 2, bytes: 2)
    return head[0] == 0 && head[1] == 0 && size >= shortest && size <= 0x2170 && size % 4 == 0
      && (head[4] == 3 || 1...2 ~= head[4] && size == shortest)
  }

  /// Returns the revision in the header's prefix: 1, or 3 for DNxHR. Nil for an unknown prefix, and for that of 4:4:4.
  private static func revision(of head: [UInt8]) -> Int? {
    isPrefix(head) && head[4] != 2 ? Int(head[4]) : nil
  }

  /// Whether each row of macroblocks begins within the frame.
  private static func areRowsThere(_ head: [UInt8], _ rows: Int, of size: Int) -> Bool {
    let start = rows > fewRows ? places + 4 * rows : shortest
    guard head.count >= places + 4 * rows, size >= start else { return false }
    return (0..<rows).allSatisfy { number(head, at: places + 4 * $0, bytes: 4) <= size - start }
  }

  private static func number(_ head: [UInt8], at place: Int, bytes: Int) -> Int {
    head[place..<(place + bytes)].reduce(0) { $0 << 8 | Int($1) }
  }
}
