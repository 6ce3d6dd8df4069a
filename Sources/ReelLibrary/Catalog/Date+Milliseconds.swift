import FoundationEssentials

extension Date {
  /// Milliseconds since 1970, as the catalog keeps times.
  var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1000).rounded(.down)) }

  init(milliseconds: Int64) {
    self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
  }

  /// This moment as the catalog gives it back.
  var wholeMilliseconds: Date { Date(milliseconds: milliseconds) }
}
