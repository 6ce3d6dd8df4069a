import HTTPTypes
import ReelCore
import ReelCrypto
import ReelHTTPFakes
import Testing

@testable import ReelRemoteStorage

@Suite struct TusReadTests {
  @Test(
    "what is read back has the time that its length needs",
    arguments: [(0, 120), (1 << 20, 184), (100 << 30, 6_553_720)] as [(Int64, Int64)])
  func patience(_ length: Int64, _ seconds: Int64) async throws {
    let transport = ScriptedTransport { sent in
      guard sent.call.method == .head else { return HTTPReply(status: .ok) }
      return HTTPReply(
        status: .ok, fields: [.tusResumable: "1.0.0", .uploadOffset: "\(length)", .uploadLength: "\(length)"])
    }
    let (uploader, key) = try await stored(transport)
    // The reply has no bytes: one that is cut short tells of no object.
    var code: UploadError.Code?
    do throws(UploadError) { _ = try await uploader.readBack(key) } catch { code = error.code }
    #expect(code == (length == 0 ? nil : .interrupted))
    #expect(transport.calls.map(\.call.method) == [.head, .get])
    #expect(transport.calls.last?.call.patience == .seconds(seconds))
  }

  @Test("where nobody tells the length, an hour has to do")
  func unknown() async throws {
    let transport = ScriptedTransport { sent in
      sent.call.method == .head
        ? HTTPReply(status: .gone, fields: [.tusResumable: "1.0.0"]) : HTTPReply(status: .ok)
    }
    let (uploader, key) = try await stored(transport, publicBaseURL: "https://cdn.example/")
    _ = try await uploader.readBack(key)
    #expect(transport.calls.last?.call.patience == .seconds(3600))
  }

  /// An uploader that thinks of an upload that was made.
  private func stored(
    _ transport: ScriptedTransport, publicBaseURL: String? = nil
  ) async throws -> (TusUploader, ObjectKey) {
    let endpoint = try #require(TusEndpoint("tus+https://host.example/files/"))
    let key = try #require(ObjectKey("k.mp4"))
    let digest = try #require(ContentDigest(sha256: SHA256.hash(data: [UInt8]())))
    let place = TusUploadState(
      TusURL(origin: HTTPOrigin(isSecure: true, host: "host.example"), target: "/files/1"), through: 0,
      prefix: digest)
    let checkpoints = MemoryCheckpoints()
    let checkpoint = try #require(UploadCheckpoint(place.text, of: digest))
    #expect(try await checkpoints.exchange(nil, for: checkpoint, of: key, in: endpoint.destination))
    return (
      TusUploader(
        endpoint, transport: transport, checkpoints: checkpoints,
        addresses: TusAddresses(publicBaseURL: publicBaseURL)), key
    )
  }
}
