import CFFmpeg
import ReelCore
import Testing

@testable import ReelProbe

struct FramePaceTests {
  private static let milliseconds = AVRational(num: 1, den: 1000)
  private static let ticks = AVRational(num: 1, den: 90_000)

  /// The timestamps of frames at `rate`, rounded to the nearest tick.
  private func times(_ count: Int, _ rate: Double, _ base: AVRational) -> [Int64] {
    (0..<count).map { Int64((Double($0) / rate * Double(base.den)).rounded()) }
  }

  @Test(arguments: [
    (60.0, "60/1"), (30.0, "30/1"), (30_000.0 / 1001, "30000/1001"), (24_000.0 / 1001, "24000/1001"),
    (25.0, "25/1"),
    (50.0, "50/1"), (120.0, "120/1"), (60_000.0 / 1001, "60000/1001"),
  ])
  func roundedTimesAreEven(rate: Double, text: String) throws {
    for base in [Self.milliseconds, Self.ticks] {
      let pace = try #require(FramePace(PacketTimes([times(300, rate, base)]), in: base, isCut: false))
      #expect(!pace.isVariable)
      #expect(pace.rate(among: [])?.description == text, "in 1/\(base.den)")
    }
  }

  /// As in a file remuxed from Matroska or FLV.
  @Test(arguments: [
    (60.0, "60/1"), (30.0, "30/1"), (24_000.0 / 1001, "24000/1001"), (25.0, "25/1"), (240.0, "240/1"),
  ])
  func millisecondsInFinerTicksAreEven(rate: Double, text: String) throws {
    let times = times(300, rate, Self.milliseconds).map { 90 * $0 + 126_000 }
    let pace = try #require(FramePace(PacketTimes([times]), in: Self.ticks, isCut: false))
    #expect(!pace.isVariable)
    #expect(pace.rate(among: [])?.description == text)
    var clock = ContentClock(base: Self.ticks, ahead: 10)
    for start in stride(from: 0, to: 300, by: 50) {
      let window = times[start..<(start + 50)]
      clock.note(0x100, steps: zip(window, window.dropFirst()).map { $1 - $0 })
    }
    #expect(clock.isEvenThroughout(0x100) == true)
  }

  /// Pictures removed before a key frame leave one gap, which changes the average but no step.
  @Test func aStatedRateCountsWhereOnePictureIsMissing() throws {
    var times = times(79, 30_000.0 / 1001, Self.milliseconds).map { 90 * $0 }
    times.remove(at: 1)
    let pace = try #require(FramePace(PacketTimes([times]), in: Self.ticks, isCut: false))
    let claims = [Rational(30_000, 1001), Rational(30, 1)].compactMap(\.self)
    #expect(pace.rate(among: claims)?.description == "30000/1001")
    #expect(pace.rate(among: [])?.description != "30000/1001")
    #expect(pace.rate(among: claims.suffix(1))?.description != "30/1")
  }

  @Test func aStatedRateCountsWhereTheTimesAgree() throws {
    // Nine frames in milliseconds fit either rate.
    let pace = try #require(
      FramePace(PacketTimes([times(9, 30, Self.milliseconds)]), in: Self.milliseconds, isCut: false))
    #expect(pace.rate(among: [Rational(30_000, 1001)].compactMap { $0 })?.description == "30000/1001")
    #expect(pace.rate(among: [Rational(1000, 1), Rational(15, 1)].compactMap { $0 })?.description == "30/1")
  }

  @Test func pulldownIsEven() throws {
    // Film on television: two fields, then three fields.
    var (time, fields): (Int64, [Int64]) = (0, [])
    for frame in 0..<100 {
      fields.append(time)
      time += frame % 2 == 0 ? 3003 : 4505
    }
    let pace = try #require(FramePace(PacketTimes([fields]), in: Self.ticks, isCut: false))
    #expect(!pace.isVariable)
    #expect(abs(pace.average - 23.976) < 0.1)
  }

  @Test func pausesAreVariable() throws {
    let even = times(100, 30, Self.milliseconds)
    let uneven = even.enumerated().map {
      $0.offset > 50 ? $0.element + Int64(100 * ($0.offset - 50)) : $0.element
    }
    let pace = try #require(FramePace(PacketTimes([uneven]), in: Self.milliseconds, isCut: false))
    #expect(pace.isVariable)
  }

  @Test func whatWasNotReadYetIsNoPause() throws {
    // The last frame is stored before two that are displayed earlier and were not read.
    let stored: [Int64] = [0, 120, 40, 80, 240, 160, 200, 360]
    let pace = try #require(FramePace(PacketTimes([stored]), in: Self.milliseconds, isCut: true))
    #expect(!pace.isVariable)
    #expect(abs(pace.average - 25) < 0.01)
  }

  /// The first frames depend on one that was stored before the beginning, and so do frames between them.
  @Test func whatWasStoredBeforeTheBeginningIsNoPause() throws {
    let stored: [Int64] = [0, 40, 200, 120, 160, 320, 240, 280, 440, 360, 400]
    let pace = try #require(
      FramePace(PacketTimes([stored]), in: Self.milliseconds, isCut: false, beginsAnywhere: true))
    #expect(!pace.isVariable)
    #expect(pace.rate(among: [])?.description == "25/1")
    let known = try #require(FramePace(PacketTimes([stored]), in: Self.milliseconds, isCut: false))
    #expect(known.average < 24)
  }

  /// Each step is permitted, but their sum exceeds the number range.
  @Test func theLongestStepsAreNoTrap() throws {
    let step = Int64(1) << 51
    let times = PacketTimes([[Int64]](repeating: [0, step, 2 * step], count: 2200))
    let found = FramePace(times, in: Self.milliseconds, isCut: false)
    let pace = try #require(found)
    #expect(abs(pace.average * Double(step) / 1000 - 1) < 0.01)
    #expect(pace.rate(among: []) == nil)
  }

  @Test(arguments: [[], [0], [0, 40], [5, 5, 5, 5], [.min, 0, .max]] as [[Int64]])
  func tooLittleSaysNothing(times: [Int64]) {
    #expect(FramePace(PacketTimes([times]), in: Self.milliseconds, isCut: true) == nil)
  }
}

struct StretchTests {
  private static let base = AVRational(num: 1, den: 1000)

  private func extent(_ times: [Int64]) -> [ClosedRange<Double>] {
    var extent = PacketExtent(jump: PacketExtent.Jump(back: 0.3, ahead: 10, in: Self.base))
    for time in times { extent.add(time, lasting: 40) }
    return extent.seconds(in: Self.base)
  }

  private let second: [Int64] = (0..<25).map { $0 * 40 }

  @Test func aClockThatStartsAnewIsAddedUp() throws {
    let sum = try #require(StretchSum([extent(second + second), extent(second + second)]))
    #expect(sum.jumps == 1)
    #expect(abs(sum.seconds - 2) < 0.001)
  }

  @Test func aJumpAheadIsNotCounted() throws {
    let sum = try #require(StretchSum([extent(second + second.map { $0 + 59_445_000 })]))
    #expect(sum.jumps == 1)
    #expect(abs(sum.seconds - 2) < 0.001)
  }

  @Test func aPauseOfOneStreamIsNone() throws {
    let long: [Int64] = (0..<1500).map { $0 * 40 }
    let sum = try #require(StretchSum([extent(long), extent([0, 40, 50_000, 50_040])]))
    #expect(sum.jumps == 0)
    #expect(abs(sum.seconds - 60) < 0.1)
  }

  @Test func timesThatNobodyHasMakeNoLength() {
    #expect(StretchSum([]) == nil)
    #expect(StretchSum([extent([])]) == nil)
    var extent = PacketExtent(jump: PacketExtent.Jump(back: 1, ahead: 1, in: Self.base))
    for time in [Int64.min, .max, .min, .max] { extent.add(time, lasting: .max) }
    #expect(StretchSum([extent.seconds(in: Self.base)]) != nil)
  }
}

struct LegacyTextTests {
  @Test(arguments: [
    (Array("Café".utf8), "Café"), ([0x43, 0x61, 0x66, 0xE9], "Café"), ([0x80, 0x20, 0x35], "€ 5"),
    ([0xCF, 0xF0, 0xE8, 0xE2, 0xE5, 0xF2], "Привет"),
    ([0xFF, 0xFE, 0x43, 0, 0xE9, 0], "Cé"), ([0xFE, 0xFF, 0, 0x43, 0, 0xE9], "Cé"),
    ([0x43, 0, 0x61, 0, 0x66, 0], "Caf"),
    (Array("Title".utf8) + [0, 0], "Title"),
  ])
  func isDecoded(bytes: [UInt8], text: String) { #expect(LegacyText.decode(bytes) == text) }

  /// 1 and 2 bytes, 1 and 3, 1 and 4: one of the cuts falls within a character wherever that begins.
  @Test(arguments: ["é", "日", "😀"]) func textIsCutBetweenCharacters(character: String) {
    let text = "a" + String(repeating: character, count: 20)
    for count in 20..<24 {
      let cut = Array(text.utf8.prefix(count))
      let told = LegacyText.decode(cut, isCut: true)
      #expect(told.map { text.hasPrefix($0) && $0.utf8.count > count - 4 } == true, "\(told ?? "nil")")
      let wide = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
      let part = LegacyText.decode([0xFF, 0xFE] + wide.prefix(count), isCut: true)
      #expect(part.map { text.hasPrefix($0) && $0.count >= count / 4 } == true, "\(part ?? "nil")")
    }
  }

  /// Western text stays Western, even if its last byte could begin a UTF-8 character.
  @Test func aCutThatIsNoUTF8IsNone() {
    #expect(LegacyText.decode([0x43, 0xE9, 0x61, 0xE9], isCut: true) == "Céaé")
  }

  @Test func whatIsNoCharacterIsUnknown() { #expect(LegacyText.decode([0x43, 0x81]) == nil) }
}
