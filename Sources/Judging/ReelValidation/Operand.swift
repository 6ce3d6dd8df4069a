/// The setting of a rule as it is written in a policy.
package struct Operand: Hashable, Sendable {
  /// One text, or those of a list; empty for a rule that is only switched on and off.
  package var texts: [String]
  package var tolerance: Tolerance

  package init(_ texts: [String] = [], tolerance: Tolerance = .usual) {
    self.texts = texts
    self.tolerance = tolerance
  }
}

/// How far a value may be from the expected one.
package enum Tolerance: Hashable, Sendable {
  /// The rule's own tolerance.
  case usual
  /// In the rule's own unit, at least 0.
  case absolute(Double)
  /// As a fraction of the expected value, at least 0: 0.01 is 1 %.
  case relative(Double)

  func admits(_ value: Double, for expected: Double, usually usual: Tolerance) -> Bool {
    // No more than the rounding of a decimal that a person wrote.
    let rounding = abs(expected) * 1e-9
    switch self {
    case .usual:
      return usual == .usual ? value == expected : usual.admits(value, for: expected, usually: .usual)
    case .absolute(let distance): return abs(value - expected) <= distance + rounding
    case .relative(let part): return abs(value - expected) <= abs(expected) * part + rounding
    }
  }
}

/// The form of an operand, for messages, documentation and the schema.
package struct OperandForm: Hashable, Sendable {
  /// Such as "a duration like 60s".
  package let name: String
  package let examples: [String]
  /// Whether several values may be given, as a list.
  package let isList: Bool
  /// A regular expression (ECMA 262) that matches every way of writing one value.
  package let pattern: String
  /// Whether a bare number is valid, so that YAML and JSON need no quotes.
  package let isNumber: Bool

  /// The first example as YAML. Text that looks like a time of day is quoted: a YAML 1.1 parser reads `9:16` as the
  /// number 556.
  package var yaml: String { Self.yaml(examples[0]) }

  /// All examples, written as in ``yaml``.
  package var yamlExamples: [String] { examples.map(Self.yaml) }

  private static func yaml(_ text: String) -> String { text.contains(":") ? "\"\(text)\"" : text }
}

/// How to read the operand of a rule.
struct RuleParameter<Value: Sendable>: Sendable {
  let form: OperandForm
  /// Returns nil if the texts are not such a value.
  let value: @Sendable ([String]) -> Value?

  static func one(
    _ name: String, _ examples: [String], pattern: String, isNumber: Bool = false,
    _ read: @escaping @Sendable (String) -> Value?
  ) -> RuleParameter {
    RuleParameter(
      form: OperandForm(
        name: name, examples: examples, isList: false, pattern: pattern, isNumber: isNumber)
    ) { $0.count == 1 ? read($0[0]) : nil }
  }
}

extension RuleParameter {
  /// A list of at least one value.
  static func list<Element: Sendable & Hashable>(
    _ name: String, _ examples: [String], pattern: String, isNumber: Bool = false,
    _ read: @escaping @Sendable (String) -> Element?
  ) -> RuleParameter where Value == [Element] {
    RuleParameter(
      form: OperandForm(name: name, examples: examples, isList: true, pattern: pattern, isNumber: isNumber)
    ) { texts in
      let values = texts.compactMap(read)
      return values.isEmpty || values.count != texts.count ? nil : values
    }
  }
}

extension RuleParameter<Double> {
  static let duration = RuleParameter.one(
    "a duration like 60s, 2m, 1h30m or 500ms", ["60s", "2m", "1h30m", "500ms", "0:45"],
    pattern: Quantity.durationPattern, isNumber: true
  ) { Quantity.seconds($0) }
  static let rate = RuleParameter.one(
    "frames in a second like 30, 29.97 or 30000/1001", ["30", "29.97", "30000/1001"],
    pattern: #"^[0-9]+(\.[0-9]+)?(/[0-9]+)?$"#, isNumber: true
  ) { Quantity.rate($0) }
}

extension RuleParameter<Int64> {
  static let bytes = RuleParameter.one(
    "a size like 100MB, 1.5GiB or 4000", ["100MB", "1.5GiB", "4000"],
    pattern: #"^[0-9]+(\.[0-9]+)? ?([kKMGT]i?)?B?$"#, isNumber: true
  ) { Quantity.bytes($0) }
  static let bitRate = RuleParameter.one(
    "a bit rate like 8Mbps or 800kbps", ["8Mbps", "800kbps", "5Mb/s"],
    pattern: #"^[0-9]+(\.[0-9]+)? ?[kKMG]?(bps|b/s|bit/s)?$"#, isNumber: true
  ) { Quantity.bitRate($0) }
}

extension RuleParameter<PictureSize> {
  static let size = RuleParameter.one(
    "a size in pixels like 1080x1920", ["1080x1920"], pattern: "^[0-9]{1,6}[x×][0-9]{1,6}$"
  ) { PictureSize($0) }
}

extension RuleParameter<Int> {
  static func count(_ name: String, _ examples: [String]) -> RuleParameter {
    .one(name, examples, pattern: "^[0-9]{1,9}$", isNumber: true) { Quantity.count($0) }
  }
}

extension RuleParameter<[Int]> {
  static func counts(_ name: String, _ examples: [String]) -> RuleParameter {
    .list(name, examples, pattern: "^[0-9]{1,9}$", isNumber: true) { Quantity.count($0) }
  }
}

extension RuleParameter<[String]> {
  /// Names in FFmpeg's spelling, or from another closed set of words.
  static func names(_ name: String, _ examples: [String]) -> RuleParameter {
    .list(name, examples, pattern: "^[A-Za-z0-9_:.-]{1,40}$") { Quantity.name($0) }
  }

  /// Codecs and pixel formats, which FFmpeg writes in lower case. A codec's other common names are accepted as well.
  static func formats(_ name: String, _ examples: [String]) -> RuleParameter {
    .list(name, examples, pattern: "^[A-Za-z0-9_:.-]{1,40}$") { text in
      Quantity.name(text).map { $0.lowercased() }.map { otherNames[$0] ?? $0 }
    }
  }

  private static let otherNames = [
    "avc": "h264", "avc1": "h264", "h.264": "h264", "x264": "h264", "hvc1": "hevc", "hev1": "hevc",
    "h265": "hevc",
    "h.265": "hevc", "x265": "hevc", "vp09": "vp9", "av01": "av1", "mp4a": "aac", "ac-3": "ac3",
    "e-ac-3": "eac3",
  ]
}

extension RuleParameter<[AspectRatio]> {
  static let aspects = RuleParameter.list(
    "a shape like \"9:16\", or a list of them", ["9:16", "1:1"],
    pattern: #"^[0-9]+(\.[0-9]+)?:[0-9]+(\.[0-9]+)?$"#
  ) { AspectRatio($0) }
}

/// Which side of a picture is longer, as displayed.
enum Orientation: String, CaseIterable {
  case portrait, landscape, square

  init(_ size: PictureSize) {
    self = size.width == size.height ? .square : size.width < size.height ? .portrait : .landscape
  }
}

extension RuleParameter<[Orientation]> {
  static let orientations = RuleParameter.list(
    "portrait, landscape or square, or a list of them", Orientation.allCases.map(\.rawValue),
    pattern: "^(" + Orientation.allCases.map(\.rawValue).joined(separator: "|") + ")$"
  ) { Orientation(rawValue: $0) }
}

/// A size in pixels, as displayed.
struct PictureSize: Hashable, Sendable, CustomStringConvertible {
  let width: Int
  let height: Int

  init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// Parses `1080x1920`.
  init?(_ text: String) {
    let parts = text.split(omittingEmptySubsequences: false) { $0 == "x" || $0 == "×" }
    guard parts.count == 2, let width = Quantity.count(String(parts[0])),
      let height = Quantity.count(String(parts[1])), width > 0, height > 0
    else { return nil }
    self.init(width: width, height: height)
  }

  var description: String { "\(width)x\(height)" }
}

/// The shape of a picture: width to height.
struct AspectRatio: Hashable, Sendable, CustomStringConvertible {
  /// The text as it was written.
  let text: String
  let value: Double

  /// Parses `9:16`, `1.91:1`.
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
