import ArgumentParser
import ReelCore

extension TimeText {
  /// Parses the value of an option.
  /// - Parameter limits: `range` in words.
  /// - Throws: when the text is not a time, or not within `range`.
  static func argument(
    _ range: ClosedRange<Double>, _ limits: String
  ) -> @Sendable (String) throws -> Double {
    { text in
      guard let seconds = seconds(text), range.contains(seconds) else {
        throw ValidationError("it must be \(form), \(limits)")
      }
      return seconds
    }
  }
}
