/// How a large object is cut into parts. The same size is always cut the same way, so that the parts of an upload that
/// broke fit the one that goes on with it.
///
/// Amazon's limits ("Amazon S3 multipart upload limits"): parts of 5 MiB to 5 GiB, the last one may be shorter; at most
/// 10,000 of them.
struct PartPlan: Sendable, Hashable {
  /// Bytes of the whole.
  let size: Int64
  /// Bytes of each part but the last.
  let partSize: Int64

  static let smallestPart: Int64 = 5 << 20
  static let mostParts: Int64 = 10_000

  /// - Parameter wanted: bytes of a part, where the limits allow it.
  init(size: Int64, wanted: Int64) {
    self.size = size
    let needed = (size + Self.mostParts - 1) / Self.mostParts
    let mebibyte: Int64 = 1 << 20
    partSize = max(Self.smallestPart, wanted, (needed + mebibyte - 1) / mebibyte * mebibyte)
  }

  /// How many there are.
  var count: Int { Int((size + partSize - 1) / partSize) }

  /// The bytes of part `number`, counted from 1.
  func range(of number: Int) -> Range<Int64> {
    let start = Int64(number - 1) * partSize
    return start..<min(size, start + partSize)
  }
}
