import Foundation
import ReelHTTPFakes
import ReelTestSupport
import Testing

/// The messages for a wrong destination. S3Tests and FirebaseTests have those for wrong credentials.
@Suite("mistakes in a destination, with one sentence each", .shortTime)
struct DestinationMistakeTests {
  private static let environment = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "hunter2"]

  /// Returns the line of standard error, or of the report, that gives the reason.
  private func said(_ to: String, _ more: String...) async throws -> (status: Int32, text: String) {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let outcome = try await ReelBinary.run(
      ["ingest", "clips", "--to", to, "--library", bench.library.path] + more, in: bench.folder,
      environment: Self.environment)
    let text = outcome.errors + outcome.output
    #expect(!text.contains("hunter2") && !text.contains("Error("), "\(text)")
    #expect((try? LibraryInspection(library: bench.library).published.isEmpty) ?? true)
    return (outcome.status, text)
  }

  @Test(
    "an invalid address",
    arguments: [
      ("gopher://x", "gopher"), ("s3://", "bucket"),
      ("s3://user:hunter2@bucket", "password"), ("tus+ftp://host/files", "tus+"),
      ("tus+https://user:hunter2@host/files", "password"), ("firebase://", "bucket"),
      ("command:", "program"),
    ])
  func noAddress(_ to: String, _ word: String) async throws {
    let (status, text) = try await said(to)
    #expect(status == 64 || status == 1, "\(text)")
    #expect(text.lowercased().contains(word), "\(text)")
    #expect(text.split(separator: "\n").count == 1, "\(text)")
  }

  @Test("a server that does not speak tus")
  func noTus() async throws {
    let server = try await LoopbackServer.start { _ in .reply(200, body: Array("<html>Welcome".utf8)) }
    let (status, text) = try await said("tus+http://127.0.0.1:\(server.port)/files")
    #expect(status == 1 && text.contains("does not speak tus 1.0"), "\(text)")
    await server.stop()
  }

  @Test("a server that does not speak HTTP")
  func noHTTP() async throws {
    let server = try await LoopbackServer.start { _ in .garbage }
    for to in ["tus+http://127.0.0.1:\(server.port)/files", "s3+http://127.0.0.1:\(server.port)/bucket"] {
      let (status, text) = try await said(to)
      #expect(status == 1 && text.contains("does not speak HTTP"), "\(text)")
    }
    await server.stop()
  }

  @Test("a bucket's other region is named, and nothing is sent there")
  func otherRegion() async throws {
    let elsewhere = try await LoopbackServer.start { _ in .reply(404) }
    let server = try await LoopbackServer.start { _ in
      .reply(
        301,
        headers: [
          ("x-amz-bucket-region", "eu-central-1"),
          ("location", "http://127.0.0.1:\(elsewhere.port)/bucket"),
        ],
        body: Array(
          "<Error><Code>PermanentRedirect</Code><Message>elsewhere</Message><Endpoint>x</Endpoint></Error>"
            .utf8
        ))
    }
    let (status, text) = try await said(
      "s3://bucket", "--endpoint", "http://127.0.0.1:\(server.port)", "--region", "us-east-1")
    #expect(status == 1 && text.contains("eu-central-1") && text.contains("--region"), "\(text)")
    #expect(elsewhere.requests.isEmpty)
    await server.stop()
    await elsewhere.stop()
  }
}
