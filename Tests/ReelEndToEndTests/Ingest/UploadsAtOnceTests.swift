import Foundation
import ReelHTTPFakes
import ReelTestSupport
import Testing

@Suite("The number of concurrent uploads", .shortTime)
struct UploadsAtOnceTests {
  @Test(
    "16 to S3, whatever --jobs is; as many as --uploads says", .ownThread,
    arguments: [(["--jobs", "1"], 16), (["--jobs", "2", "--uploads", "3"], 3)])
  func s3(_ options: [String], _ expected: Int) async throws {
    // The server accepts uploads, but never answers; an upload is given up after a minute of that.
    let server = try await LoopbackServer.start { request in
      request.method == "PUT" ? .silence : .reply(200, body: Array("<ListBucketResult/>".utf8))
    }
    let bench = try Workbench(reader: .fake)
    try bench.addDistinct(40)
    let running = try ReelBinary.start(
      [
        "ingest", "clips", "--library", bench.library.path, "--to", "s3://bucket", "--endpoint",
        "http://127.0.0.1:\(server.port)",
      ] + options, in: bench.folder,
      environment: bench.environment.merging(
        ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"]
      ) { $1 })
    // Counts objects, not requests, because an upload abandoned for the server's silence is requested again.
    let puts = { Set(server.requests.filter { $0.method == "PUT" }.map(\.target)).count }
    try await running.until { puts() >= expected }
    // Any further upload would start within this time.
    try await rest(milliseconds: 1000)
    #expect(puts() == expected)
    running.send(SIGKILL)
    let outcome = try await running.outcome()
    #expect(outcome.wasKilled, "\(outcome.errors)")
    await server.stop()
  }

  @Test(
    "each upload of a program is told its share of the rate, divided by the possible number of uploads",
    arguments: [
      (["--jobs", "2"], 400_000), (["--jobs", "32"], 100_000), (["--jobs", "2", "--uploads", "5"], 160_000),
    ])
  func rate(_ options: [String], _ expected: Int) async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let sample = ReelBinary.project.appendingPathComponent("Samples/adapters/folder.sh")
    let noting = try String(contentsOf: sample, encoding: .utf8).replacing(
      "\nread -r request\n",
      with: "\nread -r request\nprintf '%s\\n' \"$request\" >>\"$REEL_ADAPTER_FOLDER.requests\"\n")
    let adapter = bench.folder.appendingPathComponent("adapter.sh")
    try Script.write(noting, to: adapter)
    let store = bench.folder.appendingPathComponent("store").path
    let options = ["ingest", "clips", "--to", "command:" + adapter.path, "--limit-rate", "800000"] + options
    let run = try await ReelBinary.run(
      options + ["--library", bench.library.path], in: bench.folder,
      environment: ["REEL_ADAPTER_FOLDER": store])
    #expect(run.status == 0, "\(run.errors)")
    let requests = try String(contentsOfFile: store + ".requests", encoding: .utf8).split(separator: "\n")
    let uploads = requests.filter { $0.contains(#""verb":"upload""#) }
    #expect(uploads.count == 2)
    #expect(uploads.allSatisfy { $0.contains("\"limitRate\":\(expected)") }, "\(uploads)")
  }
}
