/// Which samples of a track are looked at for where it was recorded, for the fact and by whoever takes it out: the first ones,
/// and some that lie evenly over all, with the last among them. A camera that was just switched on finds its satellites later,
/// and goes on to write where it is.
package enum SampleSearch {
  /// Bytes of a sample of text or data.
  package static let looked: Int64 = 4096
  private static let most = 8
  /// Of a file that is far away each is a request.
  private static let mostFar = 2
  /// Pictures from one that needs no other to the next.
  private static let mostBack = 600

  /// The numbers of samples, from 0 on, in order.
  /// - Parameter isKey: of pictures, of which only those that need no other are asked: cameras write beside these.
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
