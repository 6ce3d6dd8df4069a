import Foundation
import ReelHTTPFakes
import ReelTestSupport
import Synchronization
import Testing

@Suite(
  "the binary, over TLS", .needsOpenSSL,
  .shortTime)
struct TLSTests {
  private static let environment = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "s3cret"]

  private func ingest(
    _ bench: Workbench, _ to: String, _ more: String...
  ) async throws -> ReelBinary.Outcome {
    try await ReelBinary.run(
      ["ingest", "clips", "--to", to, "--library", bench.library.path] + more, in: bench.folder,
      environment: Self.environment)
  }

  @Test("--ca-file names the authority of a store's certificate, and everything goes over TLS")
  func named() async throws {
    let (bench, authority, store) = (try Workbench(), try await TestAuthority(), TusStore())
    try bench.addDistinct(2)
    let server = try await authority.serve { store.answer($0) }
    let outcome = try await ingest(
      bench, "tus+https://localhost:\(server.port)/files", "--ca-file", authority.certificate)
    #expect(outcome.status == 0, "\(outcome.output) \(outcome.errors)")
    #expect(try LibraryInspection(library: bench.library).published.count == 2)
    #expect(store.wholeObjects == 2)
    // The server verified nothing, which is reported.
    #expect(outcome.output.contains("gave no checksum"), "\(outcome.output)")
    await server.stop()
  }

  @Test(
    "a store is reached through the environment's proxy or --proxy, unless no_proxy exempts it",
    arguments: ["https_proxy", "--proxy"])
  func proxy(_ way: String) async throws {
    let (bench, authority, store) = (
      try Workbench(), try await TestAuthority(for: "store.example"), TusStore()
    )
    try bench.addDistinct(1)
    let server = try await authority.serve { store.answer($0) }
    let proxy = try await TunnelProxy.start(to: server.port)
    let address = "http://user:hunter2@127.0.0.1:\(proxy.port)"
    func outcome(_ more: [String: String]) async throws -> ReelBinary.Outcome {
      let named = way == "--proxy" ? ["--proxy", address] : []
      let environment = way == "--proxy" ? ["https_proxy": "http://127.0.0.1:1"] : [way: address]
      return try await ReelBinary.run(
        [
          "ingest", "clips", "--to", "tus+https://store.example/files", "--ca-file", authority.certificate,
          "--library", bench.library.path,
        ] + named, in: bench.folder,
        environment: Self.environment.merging(environment) { $1 }.merging(more) { $1 })
    }
    let through = try await outcome([:])
    #expect(through.status == 0, "\(through.output) \(through.errors)")
    #expect(store.wholeObjects == 1)
    #expect(!proxy.heads.isEmpty && proxy.heads.allSatisfy { $0.hasPrefix("CONNECT store.example:443 ") })
    let asked = proxy.heads.count
    try bench.addDistinct(2)
    // The name does not resolve, and the proxy is not contacted.
    let past = try await outcome(["no_proxy": "store.example"])
    #expect(past.status != 0, "\(past.output)")
    #expect(proxy.heads.count == asked)
    #expect(!(past.output + past.errors).contains("hunter2"))
    await proxy.stop()
    await server.stop()
  }

  @Test(
    "an unknown authority or another name in the certificate ends the run before any request",
    arguments: ["tus+https", "s3+https"])
  func refused(_ scheme: String) async throws {
    let (bench, authority) = (try Workbench(), try await TestAuthority())
    try bench.addDistinct(1)
    let server = try await authority.serve { _ in .reply(204) }
    func refusal(_ host: String, _ more: String...) async throws -> String {
      let outcome = try await ReelBinary.run(
        [
          "ingest", "clips", "--to", "\(scheme)://\(host):\(server.port)/files", "--library",
          bench.library.path,
        ]
          + more, in: bench.folder, environment: Self.environment)
      #expect(outcome.status == 1, "\(outcome.output) \(outcome.errors)")
      return outcome.output + outcome.errors
    }
    let unknown = try await refusal("localhost")
    #expect(
      unknown.contains("an authority that this machine trusts") && unknown.contains("--ca-file"), "\(unknown)"
    )
    let other = try await refusal("127.0.0.1", "--ca-file", authority.certificate)
    #expect(other.contains("its certificate is for another name"), "\(other)")
    #expect(server.requests.isEmpty, "\(server.requests.map(\.target))")
    for text in [unknown, other] { #expect(!text.contains("s3cret")) }
    await server.stop()
  }
}

/// A minimal tus server: creation only.
private final class TusStore: Sendable {
  private struct Upload {
    let length: Int
    var offset = 0
  }
  private let uploads = Mutex<[Upload]>([])

  var wholeObjects: Int { uploads.withLock { $0.count { $0.offset == $0.length } } }

  func answer(_ request: ReceivedRequest) -> ServerAction {
    let version = ("Tus-Resumable", "1.0.0")
    return uploads.withLock { uploads in
      let number = request.target.split(separator: "/").last.flatMap { Int($0) }
      switch (request.method, number) {
      case ("OPTIONS", _):
        return .reply(204, headers: [version, ("Tus-Version", "1.0.0"), ("Tus-Extension", "creation")])
      case ("POST", nil):
        uploads.append(Upload(length: request.header("Upload-Length").flatMap { Int($0) } ?? 0))
        return .reply(201, headers: [version, ("Location", "/files/\(uploads.count - 1)")])
      case ("PATCH", let number?):
        uploads[number].offset += request.body.count
        return .reply(204, headers: [version, ("Upload-Offset", "\(uploads[number].offset)")])
      case ("HEAD", let number?):
        let upload = uploads[number]
        return .reply(
          200,
          headers: [version, ("Upload-Offset", "\(upload.offset)"), ("Upload-Length", "\(upload.length)")])
      default: return .reply(404)
      }
    }
  }
}
