import FoundationEssentials
import ReelCore
import ReelWire
import Testing

/// What is written is read unchanged.
@Suite struct WireRoundTripTests {
  @Test(arguments: 0..<300)
  func facts(seed: UInt64) throws {
    var chance = Chance(seed: seed)
    let reply = ReadReply.facts(
      chance.media(), chance.pick(ProbeMethod.allCases), reason: chance.pick([nil, "no size"]),
      evidence: chance.pick([
        [], FactEvidence.Source.allCases.map { FactEvidence(fact: "duration", source: $0) },
      ]),
      rewriting: chance.pick([
        RewritingFacts(), RewritingFacts(shownStream: 3, isPlaceInPictures: true),
        RewritingFacts(isPlaceInText: true),
      ]))
    #expect(try ReadReply(decoding: reply.encoded()) == reply)
  }

  @Test(arguments: [
    ProbeError.Code.notMedia, .playlist, .unsupported, .truncated, .indexMissing, .corrupt, .timeout,
    .memoryLimit,
    .implausible,
    .sourceChanged, .unreadable, .empty, .externalMedia,
  ])
  func failures(code: ProbeError.Code) throws {
    for found in [nil, "an HLS playlist"] {
      let reply = ReadReply.failure(ProbeError(code, "it is cut off", found: found))
      #expect(try ReadReply(decoding: reply.encoded()) == reply)
    }
  }

  @Test func otherFrames() throws {
    for role in WorkerStart.Role.allCases {
      let start = WorkerStart(role: role, memory: 512 << 20, processorSeconds: 10)
      #expect(try WorkerStart(decoding: start.encoded()) == start)
    }
    for level in IsolationLevel.allCases {
      let hello = WorkerHello(version: ReaderVersion(reel: "0.1.0", ffmpeg: "59.27.100"), isolation: level)
      #expect(try WorkerHello(decoding: hello.encoded()) == hello)
    }
    for container in MediaContainer.allCases {
      let request = ReadRequest(size: 1 << 40, container: container, byteBudget: 5, milliseconds: 9000)
      #expect(try ReadRequest(decoding: request.encoded()) == request)
    }
    for purpose in [.reading, .pictures, .mending(outputSize: 1 << 40)] as [ForkRequest.Purpose] {
      let request = ForkRequest(purpose, processorSeconds: 10)
      #expect(try ForkRequest(decoding: request.encoded()) == request)
    }
    for reply in [ForkReply.forked(77), .failed(11)] {
      #expect(try ForkReply(decoding: reply.encoded()) == reply)
    }
  }

  @Test func theFullestFrameFits() throws {
    var media = MediaInfo(container: .mp4, size: .max)
    let tag = String(repeating: "é", count: 2048)
    (media.title, media.artist, media.contentIdentifier) = (tag, tag, tag)
    media.warnings = Array(
      repeating: MediaWarning(
        .truncated, String(repeating: "w", count: 512), fact: String(repeating: "f", count: 64),
        stated: .text(String(repeating: "s", count: 128)), measured: .text(String(repeating: "m", count: 128))
      ),
      count: 46)
    let codec = String(repeating: "c", count: 64)
    media.audio = Array(repeating: AudioFacts(codec: codec, channels: 1024, sampleRate: 1), count: 1024)
    let evidence = (0..<(3 * 1024 + 64)).map {
      FactEvidence(fact: "audio.1023.sampleRate\($0 % 10)", source: .packets)
    }
    let reply = ReadReply.facts(media, .full, evidence: evidence)
    let frame = try reply.encoded()
    #expect(frame.count <= WireFrame.largest)
    #expect(try ReadReply(decoding: frame) == reply)
  }

  @Test func tooManyStreamsFitInNone() {
    var media = MediaInfo(container: .mp4, size: 1)
    media.audio = Array(repeating: AudioFacts(), count: 1025)
    #expect(throws: WireError.length) { try ReadReply.facts(media, .full).encoded() }
  }
}
