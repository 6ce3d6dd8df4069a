import ReelCore
import ReelTestSupport

/// A number in a file's headers that describes its content, with its location and subject.
struct HeaderField: Sendable, CustomStringConvertible {
  /// What the number describes.
  enum Subject: String, Sendable, CaseIterable {
    case duration, clock, rate, count, size, channels, sampleRate, shape, matrix, colour, edit, date, index
  }

  enum Form: Sendable { case big, little, float }

  /// The path and name, such as `moov/trak/mdia/mdhd timescale`.
  let name: String
  let subject: Subject
  let offset: Int
  /// The number of bytes, at most 8.
  let width: Int
  var form = Form.big

  var description: String { "\(name) at \(offset)" }

  func value(in bytes: [UInt8]) -> UInt64 {
    let found = bytes[offset..<(offset + width)]
    return (form == .little ? Array(found.reversed()) : Array(found)).reduce(0) { $0 << 8 | UInt64($1) }
  }

  func write(_ value: UInt64, into bytes: inout [UInt8]) {
    for place in 0..<width {
      let shift = UInt64(8 * (form == .little ? place : width - 1 - place))
      bytes[offset + place] = UInt8(truncatingIfNeeded: value >> shift)
    }
  }

  /// False values: zero, all ones, multiples and fractions of the true one, its neighbors, and random numbers.
  func lies(about bytes: [UInt8], _ chance: inout SplitMix64) -> [UInt64] {
    let told = value(in: bytes)
    let ones = UInt64.max >> UInt64(64 - 8 * width)
    if form == .float { return floatLies(told) }
    let all: [UInt64] = [
      0, 1, ones, told &* 2, told / 2, told &* 10, told / 10, told &+ 1, told &- 1, told ^ (ones / 2 + 1),
      chance.next(), chance.next() % 100_000,
    ]
    return Array(Set(all.map { $0 & ones }).subtracting([told])).sorted()
  }

  private func floatLies(_ told: UInt64) -> [UInt64] {
    if width == 4 {
      let number = Float(bitPattern: UInt32(truncatingIfNeeded: told))
      return [0, number * 2, number / 2, number * 1800, -number, .infinity].map { UInt64($0.bitPattern) }
    }
    let number = Double(bitPattern: told)
    return [0, number * 2, number / 2, number * 1800, -number, .infinity].map(\.bitPattern)
  }

  /// Every known field in a file of `container`.
  static func all(of bytes: [UInt8], _ container: MediaContainer) -> [HeaderField] {
    switch container {
    case .mp4, .mov, .m4v, .threeGP, .threeG2: ISOFields(bytes).found
    case .matroska, .webm: MatroskaFields(bytes).found
    case .avi: AVIFields(bytes).found
    case .asf: ASFFields(bytes).found
    case .flv: FLVFields(bytes).found
    case .ogg: OggFields(bytes).found
    case .mxf: MXFFields(bytes).found
    case .mpegTS, .m2ts, .mpegPS: MPEGFields(bytes).found
    }
  }

  /// Corrects the checksums, as a writer of the changed file would.
  static func seal(_ bytes: inout [UInt8], _ container: MediaContainer) {
    if container == .ogg { OggPages.seal(&bytes) }
  }
}

/// Collects the fields found in a file's bytes.
struct Fields {
  let bytes: [UInt8]
  var found: [HeaderField] = []

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func add(
    _ name: String, _ subject: HeaderField.Subject, at offset: Int, _ width: Int,
    _ form: HeaderField.Form = .big
  ) {
    guard offset >= 0, width > 0, offset + width <= bytes.count else { return }
    found.append(HeaderField(name: name, subject: subject, offset: offset, width: width, form: form))
  }

  func big(_ offset: Int, _ width: Int) -> Int {
    guard offset >= 0, offset + width <= bytes.count else { return 0 }
    return bytes[offset..<(offset + width)].reduce(0) { $0 << 8 | Int($1) }
  }

  func little(_ offset: Int, _ width: Int) -> Int {
    guard offset >= 0, offset + width <= bytes.count else { return 0 }
    return bytes[offset..<(offset + width)].reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  func text(_ offset: Int, _ width: Int) -> String {
    guard offset >= 0, offset + width <= bytes.count else { return "" }
    return String(decoding: bytes[offset..<(offset + width)], as: UTF8.self)
  }
}
