import CFFmpeg
import ReelCore

/// Several AVI files that were joined (`cat a b`): after the end of one, another begins with headers of its own.
/// FFmpeg continues by the clock of the first.
struct AVIParts: Hashable {
  let count: Int
  /// Their total duration in seconds; nil if one of them does not state its own.
  let seconds: Double?
  /// Whether the pictures of all files come at the rate of the first, and none drops so many frames that they don't.
  let areEven: Bool
  /// The size of the first file's pictures, and a different one that another file has.
  let sizes: [PixelSize]

  private static let most = 1000

  /// Returns nil for a single file.
  init?(_ file: some ByteReading) {
    let starts = AVIFile.starts(file, most: Self.most)
    guard starts.count > 1 else { return nil }
    let parts = zip(starts, starts.dropFirst() + [file.size]).map { Part(PartOfFile(file, $0..<$1)) }
    count = parts.count
    let lengths = parts.compactMap(\.seconds)
    seconds = lengths.count == parts.count && parts.count < Self.most ? lengths.reduce(0, +) : nil
    areEven = parts.allSatisfy { !$0.leavesOut && $0.rate == parts[0].rate }
    let other = parts.compactMap(\.size).first { $0 != parts[0].size }
    sizes = parts[0].size.flatMap { first in other.map { [first, $0] } } ?? []
  }

  /// One of the files.
  private struct Part {
    var seconds: Double?
    var rate: Rational?
    /// Whether so many frames are dropped that the rest do not follow the stated rate.
    var leavesOut = false
    var size: PixelSize?

    init(_ file: some ByteReading) {
      guard let headers = AVIHeaders(file) else { return }
      let lengths = headers.streams.filter { $0.type == "vids" || $0.type == "auds" }.compactMap(\.seconds)
      guard let place = headers.streams.firstIndex(where: { $0.type == "vids" }) else {
        seconds = lengths.max()
        return
      }
      let pictures = headers.streams[place]
      size = pictures.size
      rate = Rational(Int(pictures.rate), Int(pictures.scale))
      // A remote file is not read merely to find its duration.
      guard let rate, rate.value > 0, !file.isFar, let frames = AVIFrames(file, headers, stream: place),
        !frames.isEndLost
      else { return }
      let base = AVRational(num: Int32(clamping: pictures.scale), den: Int32(clamping: pictures.rate))
      leavesOut =
        FramePace(PacketTimes([frames.times]), in: base, isCut: false).map {
          $0.isVariable || abs($0.ordinary - rate.value) > FramePace.tolerance * rate.value
        } ?? false
      let counted = Double(frames.count) / rate.value
      let isAsStated = pictures.seconds.map { abs($0 - counted) <= max(0.1, $0 * 0.01) } ?? false
      seconds = isAsStated ? lengths.max() : counted
    }
  }
}

/// A part of a file that is read as if it were a whole one.
private struct PartOfFile<Whole: ByteReading>: ByteReading {
  private let whole: Whole
  private let range: Range<Int64>

  init(_ whole: Whole, _ range: Range<Int64>) { (self.whole, self.range) = (whole, range) }

  var size: Int64 { range.upperBound - range.lowerBound }
  var isFar: Bool { whole.isFar }
  var isHalfSpent: Bool { whole.isHalfSpent }

  func bytes(at offset: Int64, count: Int) -> [UInt8] {
    guard offset >= 0, offset < size else { return [] }
    return whole.bytes(at: range.lowerBound + offset, count: Int(min(Int64(count), size - offset)))
  }
}
