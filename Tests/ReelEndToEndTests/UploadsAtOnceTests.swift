import Foundation
import ReelHTTPFakes
import ReelTestSupport
import Testing

@Suite("how many uploads are under way at once", .shortTime)
struct UploadsAtOnceTests {
  @Test(
    "16 to S3, whatever --jobs is; as many as --uploads says",
    arguments: [(["--jobs", "1"], 16), (["--jobs", "2", "--uploads", "3"], 3)])
  func s3(_ options: [String], _ expected: Int) async throws {
    // It takes what is put, and never answers.
    let server = try await LoopbackServer.start { request in
      request.method == "PUT" ? .silence : .reply(200, body: Array("<ListBucketResult/>".utf8))
    }
    let bench = try Workbench()
    try bench.addDistinct(40)
    let running = try ReelBinary.start(
      [
        "ingest", "clips", "--library", bench.library.path, "--to", "s3://bucket", "--endpoint",
        "http://127.0.0.1:\(server.port)",
      ] + options, in: bench.folder,
      environment: ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"])
    // Objects, not requests: one that was given up for its silence is asked for again.
    let puts = { Set(server.requests.filter { $0.method == "PUT" }.map(\.target)).count }
    while running.process.isRunning, puts() < expected { try await Task.sleep(for: .milliseconds(20)) }
    // One more would come now.
    try await Task.sleep(for: .seconds(1))
    #expect(puts() == expected)
    running.send(SIGKILL)
    let outcome = try await running.outcome()
    #expect(outcome.wasKilled, "\(outcome.errors)")
    await server.stop()
  }
}
