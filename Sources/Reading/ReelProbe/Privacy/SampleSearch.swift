/// The choice of samples that are searched for the location of a recording, for the fact and for the mender: the first
/// ones, and some that are spread evenly over all, including the last. A camera that was just switched on finds its
/// satellites later, and continues to write its position.
package enum SampleSearch {
  /// The number of bytes of a text or data sample that are searched.
  package static let looked: Int64 = 4096
  private static let most = 8
  /// The number of places in a remote file, each of which takes a request; the first samples are at one place.
  private static let mostFar = 2
  /// The largest number of pictures from one key frame to the next.
  private static let mostBack = 600

  /// Returns the numbers of the samples, from 0 on, in order.
  /// - Parameter isKey: for pictures, whether a sample is a key frame. Only key frames are searched, because cameras
  ///   write beside these.
  package static func numbers(
    of count: Int, isFar: Bool = false, isKey: ((Int) -> Bool)? = nil
  ) -> [Int] {
    guard count > 0 else { return [] }
    let places = min(count, isFar ? mostFar : most)
    let spread = (0..<places).map { $0 * (count - 1) / max(1, places - 1) }
    guard let isKey else { return Set(0..<min(most, count)).union(spread).sorted() }
    return Set(spread.map { last in (max(0, last - mostBack)...last).last(where: isKey) ?? last }).sorted()
  }
}
