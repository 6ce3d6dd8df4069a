import Foundation
import ReelHostileFiles
import Testing

/// Whatever a file is, it is mended, well, or refused; what is written is whole.
@Suite("Hostile files, mended", .serialized, .shortTime)
struct MendTests {
  /// What no file may bring about: they are faults of Reel's, or of the installation's.
  private static let never: Set = [
    "sandboxViolation", "implausible", "workerMissing", "workerBroken", "isolationUnavailable", "noReader",
    "tooManyOpenFiles", "cancelled", "crashed", "?",
  ]

  @Test(
    "each ends with a code or a file that can be read",
    arguments: [
      ["--unfragment", "--faststart", "--strip-private"], ["--salvage", "--drop-data"],
      ["--rotate", "90", "--sar", "4:3"], ["--duration", "--salvage"],
    ])
  func everyAnswer(_ flags: [String]) throws {
    let set = try Bench.hostileSet().files.filter { !$0.answers.contains("timeout") }
    let bench = try Bench(Bench.some(set, oneIn: 12))
    let run = try ReelRun.run(
      ["mend", "--jsonl", bench.files.path, "--to", "mended"] + flags, in: bench.folder)
    #expect([0, 3].contains(run.status), "\(run.errorText)")
    ProbeTests.expectFit(run)
    var written = 0
    for line in run.lines {
      let answer = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
      if let error = answer["error"] as? [String: Any] {
        #expect(!Self.never.contains(error["code"] as? String ?? "?"), "\(line)")
      } else if answer["file"] is String {
        written += 1
      }
    }
    let mended = bench.folder.appendingPathComponent("mended")
    let files = (FileManager.default.enumerator(atPath: mended.path)?.compactMap { $0 as? String } ?? [])
      .filter { name in
        var isFolder: ObjCBool = false
        let path = mended.appendingPathComponent(name).path
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
      }
    // Foundation lists no name that is not UTF-8.
    #expect(files.count <= written && files.count >= written - 10)
    // What is a hole in a file is one in the mended one.
    let stored = try files.reduce(0) {
      try $0
        + (mended.appendingPathComponent($1).resourceValues(forKeys: [.totalFileAllocatedSizeKey])
          .totalFileAllocatedSize ?? 0)
    }
    #expect(stored < 256 << 20)
    #expect(!files.contains { $0.contains(".reel-mend-") })
    guard written > 0 else { return }
    let probed = try bench.reel("probe", "--jsonl", "mended")
    #expect(probed.status == 0, "\(probed.text)")
  }
}
