import FoundationEssentials
import ReelCore
import ReelTestSupport

/// Random facts that a file may have, the same for the same seed.
struct Chance: RandomNumberGenerator {
  private var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func next() -> UInt64 { generator.next() }

  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

  mutating func pick<Value>(_ values: [Value]) -> Value { values[number(0...values.count - 1)] }

  mutating func maybe<Value>(_ value: (inout Chance) -> Value) -> Value? {
    Bool.random(using: &self) ? value(&self) : nil
  }

  mutating func text(_ count: Int) -> String {
    String((0..<number(0...count)).map { _ in pick(["a", "Z", " ", "é", "水", "🎞️", "=", "#", ":"]) }.joined())
  }

  mutating func name() -> String {
    String((0..<number(1...64)).map { _ in pick(Array("abcxyz0189_-. ()")) })
  }

  mutating func media() -> MediaInfo {
    var media = MediaInfo(container: pick(MediaContainer.allCases), size: Int64(number(0...Int.max)))
    if let duration = maybe({ Double.random(in: 0.001..<31_000_000, using: &$0) }) {
      media.duration = duration
      media.durationSource = pick(DurationSource.allCases)
    }
    media.truncated = maybe { Bool.random(using: &$0) }
    media.presentDuration = maybe { Double($0.number(0...100_000)) / 8 }
    media.external = maybe { Bool.random(using: &$0) }
    media.fastStart = maybe { Bool.random(using: &$0) }
    media.fragmented = maybe { Bool.random(using: &$0) }
    media.video = maybe { $0.video() }
    media.audio = (0..<number(0...3)).map { _ in audio() }
    media.title = maybe { $0.text(100) }
    media.artist = maybe { $0.text(100) }
    media.createdAt = maybe { Date(timeIntervalSince1970: Double($0.number(-2_000_000_000...4_000_000_000))) }
    media.hasLocation = maybe { Bool.random(using: &$0) }
    media.contentCredentials = maybe { Bool.random(using: &$0) }
    media.encrypted = maybe { Bool.random(using: &$0) }
    media.contentIdentifier = maybe { $0.text(40) }
    media.hasCover = maybe { Bool.random(using: &$0) }
    media.bitRate = maybe { Int64($0.number(1...1_000_000_000)) }
    media.warnings = (0..<number(0...4)).map { _ in
      MediaWarning(
        pick(MediaWarning.Code.allCases), text(50), fact: maybe { $0.name() }, stated: maybe { $0.value() },
        measured: maybe { $0.value() })
    }
    return media
  }

  private mutating func value() -> MediaWarning.Value {
    Bool.random(using: &self) ? .text(text(30)) : .number(Double(number(-1000...1000)) / 8)
  }

  private mutating func audio() -> AudioFacts {
    AudioFacts(
      codec: maybe { $0.name() }, channels: maybe { $0.number(1...64) },
      sampleRate: maybe { $0.number(1...192_000) })
  }

  private mutating func video() -> VideoFacts {
    var video = VideoFacts()
    video.codec = maybe { $0.name() }
    if Bool.random(using: &self) {
      (video.width, video.height) = (number(1...1_000_000), number(1...1_000_000))
    }
    if Bool.random(using: &self) {
      (video.storedWidth, video.storedHeight) = (number(1...65_536), number(1...65_536))
    }
    video.rotation = maybe { $0.number(0...359) }
    video.mirrored = maybe { Bool.random(using: &$0) }
    video.sampleAspectRatio = ratio().map(SampleAspectRatio.init)
    video.frameRate = ratio().map(FrameRate.init)
    video.variableFrameRate = maybe { Bool.random(using: &$0) }
    video.pixelFormat = maybe { $0.name() }
    video.chroma = maybe { $0.pick(["4:2:0", "4:4:4"]) }
    video.bitDepth = maybe { $0.number(1...16) }
    video.profile = maybe { $0.name() }
    video.bitRate = maybe { Int64($0.number(1...1_000_000_000)) }
    video.hdr = maybe { HDR(kind: $0.pick(HDR.Kind.allCases), profile: $0.maybe { $0.number(0...10) }) }
    video.streams = maybe { $0.number(0...9) }
    video.hasCover = maybe { Bool.random(using: &$0) }
    video.hasSamples = maybe { Bool.random(using: &$0) }
    return video
  }

  private mutating func ratio() -> Rational? {
    Bool.random(using: &self) ? Rational(number(1...100_000), number(1...100_000)) : nil
  }
}
