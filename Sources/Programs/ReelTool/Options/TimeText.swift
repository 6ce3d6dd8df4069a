import ArgumentParser
import ReelCore

extension TimeText {
  /// Of an option.
  /// - Parameter limits: in words.
  /// - Throws: where it is none, or not within `range`.
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
