import ReelCore
import ReelWire
import Testing

/// What is written can be read, and nothing else.
@Suite struct MendWireTests {
  private static let file = ReadRequest(
    size: 1 << 40, container: .mov, byteBudget: 1 << 50, milliseconds: 9000)
  private static let wide = Rational(12, 11).map { SampleAspectRatio($0) }

  static let requests: [MendRequest] = [
    .mend(file, MendOptions()),
    .mend(file, MendOptions(Set(Mend.allCases), rotation: 270, sampleAspectRatio: wide)),
    .digest(
      file,
      .init(
        exclusion: .timedMetadata, most: nil, mediaTimeOnly: false, shapeCounts: true, metadataCounts: false,
        seed: .max)),
    .digest(
      file,
      .init(
        exclusion: .data, most: [0, 5, .max], mediaTimeOnly: true, shapeCounts: false, metadataCounts: true,
        seed: 0)),
    .digest(
      file,
      .init(
        exclusion: .nothing, most: [], mediaTimeOnly: true, shapeCounts: true, metadataCounts: true, seed: 1)),
  ]

  static let replies: [MendReply] = [
    .writing, .mended([], size: 0), .mended(Set(Mend.allCases), size: .max), .digests([]),
    .digests(
      StreamDigest.Kind.allCases.map {
        StreamDigest(
          kind: $0, packets: 7, digest: Array(0..<UInt8(StreamDigest.length)), start: .min, end: nil)
      }),
    .failure(MendError(.notMendable, "its index is too large")),
    .failure(MendError(.notMendable, "it was cut off", remedy: .salvage)),
  ]

  @Test(arguments: requests) func request(_ request: MendRequest) throws {
    #expect(try MendRequest(decoding: request.encoded()) == request)
  }

  @Test(arguments: replies) func reply(_ reply: MendReply) throws {
    #expect(try MendReply(decoding: reply.encoded()) == reply)
  }

  /// A single lying worker must not end a run.
  @Test(arguments: MendError.Code.allCases)
  func aWorkerSpeaksOfTheFileAlone(_ code: MendError.Code) throws {
    let frame = try MendReply.failure(MendError(code, "no")).encoded()
    let isRead = (try? MendReply(decoding: frame)) != nil
    #expect(!isRead || !code.isInstallation && ![.cancelled, .notProven, .tooManyOpenFiles].contains(code))
    #expect(isRead || ![.notMendable, .notWritten, .corrupt, .truncated].contains(code))
  }

  @Test func output() throws {
    #expect(try MendOutputRequest(decoding: MendOutputRequest().encoded()) == MendOutputRequest())
  }

  /// With any byte changed, a frame is refused or read completely.
  @Test func otherBytesAreRefusedOrRead() throws {
    for frame in try Self.requests.map({ try $0.encoded() }) + Self.replies.map({ try $0.encoded() }) {
      for place in frame.indices {
        for bit in [0x01, 0x80] as [UInt8] {
          var changed = frame
          changed[place] ^= bit
          if let request = try? MendRequest(decoding: changed) {
            #expect(try MendRequest(decoding: request.encoded()) == request)
          }
          if let reply = try? MendReply(decoding: changed) {
            #expect(try MendReply(decoding: reply.encoded()) == reply)
          }
        }
        #expect((try? MendRequest(decoding: Array(frame[..<place]))) == nil)
        #expect((try? MendReply(decoding: Array(frame[..<place]))) == nil)
      }
    }
  }
}
