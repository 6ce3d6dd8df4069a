/// Pixels, as shown.
struct PictureSize: Hashable, Sendable, CustomStringConvertible {
  let width: Int
  let height: Int

  init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// `1080x1920`.
  init?(_ text: String) {
    let parts = text.split(omittingEmptySubsequences: false) { $0 == "x" || $0 == "×" }
    guard parts.count == 2, let width = Quantity.count(String(parts[0])),
      let height = Quantity.count(String(parts[1])), width > 0, height > 0
    else { return nil }
    self.init(width: width, height: height)
  }

  var description: String { "\(width)x\(height)" }
}

/// The shape of a picture, width to height.
struct AspectRatio: Hashable, Sendable, CustomStringConvertible {
  /// As written.
  let text: String
  let value: Double

  /// `9:16`, `1.91:1`.
  init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let width = Quantity.number(String(parts[0])),
      let height = Quantity.number(String(parts[1])), width > 0, height > 0
    else { return nil }
    self.text = text
    value = width / height
  }

  var description: String { text }
}
