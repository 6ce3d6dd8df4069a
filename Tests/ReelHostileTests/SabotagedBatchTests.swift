import Foundation
import ReelTestSupport
import Testing

/// One worker in ten fails in the middle of a batch: all other files are published, and each bad one has its code.
@Suite("a batch with sabotaged workers", .shortTime)
struct SabotagedBatchTests {
  private static let sabotages = all.filter {
    !Bench.hasSanitizedWorkers || !["abort", "eat"].contains($0.0)
  }

  /// The worker that hangs uses up its processor time long before its deadline, unless the machine is busy; all others
  /// have enough of both.
  private static let all = [
    ("abort", "crashed"), ("segmentation-fault", "crashed"), ("hang", "timeout"), ("eat", "memoryLimit"),
    ("garbage", "implausible"), ("too-much", "implausible"), ("endless", "implausible"), ("close", "crashed"),
    ("nothing", "crashed"), ("escape socket", "sandboxViolation"),
  ]

  @Test("every other file is published", arguments: ["auto", "strict"])
  func batch(isolation: String) throws {
    let count = TestForm.isLong ? 1000 : 100
    let bench = try Bench()
    for number in 0..<count { try write(number, into: bench.files) }
    let run = try bench.reel(
      "ingest", bench.files.path, "--library", bench.library.path, "--events", "events.jsonl", "--worker",
      ReelRun.worker("reel-sabotaged-worker"), "--deadline", "60", "--isolation", isolation)
    #expect(run.status == 3, "\(run.errorText)")
    // The greedy worker takes all the memory that it may, more than the program itself uses, so this measures the
    // worker.
    let peak = run.peakMemory >> 20
    #expect(TestForm.isSanitized || (256...576).contains(peak), "\(peak) MB")
    let events = try Data(contentsOf: bench.folder.appendingPathComponent("events.jsonl"))
    let ends = try Answer.ends(String(decoding: events, as: UTF8.self), beneath: bench.files)
    #expect(ends.count == count)
    let codes = Dictionary(grouping: ends, by: \.path).mapValues { $0.map(\.code) }
    for number in 0..<count {
      #expect(codes[Array(Self.name(number).utf8)] == [Self.expected(number)], "file \(number)")
    }
  }

  private static func sabotage(_ number: Int) -> (order: String, code: String)? {
    number % 10 == 7 ? sabotages[number / 10 % sabotages.count] : nil
  }

  private static func expected(_ number: Int) -> String { sabotage(number)?.code ?? "post.published" }

  private static func name(_ number: Int) -> String { "clip-\(number).mp4" }

  /// Writes an MP4 that satisfies the sniffer, with an order after its first 32 bytes. The minor version makes each
  /// file different.
  private func write(_ number: Int, into folder: URL) throws {
    let brand =
      Data([0, 0, 0, 24]) + Data("ftypisom".utf8) + Data([0, 0, UInt8(number >> 8), UInt8(number & 255)])
    let movie = Data("isomiso2".utf8) + Data([0, 0, 0, 8]) + Data("moov".utf8)
    let order = Self.sabotage(number)?.order ?? "video"
    try (brand + movie + Data(order.utf8)).write(to: folder.appendingPathComponent(Self.name(number)))
  }
}
