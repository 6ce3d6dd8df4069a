import Foundation
import Testing

/// A run of `reel mend` over strangers' files, and what it has written.
struct MendRun {
  /// What no file may bring about: they are faults of Reel's, or of the installation's.
  private static let never: Set = [
    "sandboxViolation", "implausible", "workerMissing", "workerBroken", "isolationUnavailable", "noReader",
    "tooManyOpenFiles", "cancelled", "crashed", "?",
  ]
  /// Source and mended file, of each that was mended; paths as they were told.
  private(set) var mended: [(source: String, file: String)] = []
  /// How many files ended with each code.
  private(set) var codes: [String: Int] = [:]

  /// Mends all files of `bench` into the folder `target`, each of which is to end with a code or a file, and leaves nothing
  /// else.
  init(_ flags: [String], of folder: String, in bench: Bench, to target: String = "mended") throws {
    let run = try ReelRun.run(["mend", "--jsonl", folder, "-o", target + "/"] + flags, in: bench.folder)
    #expect([0, 3, 4].contains(run.status), "\(run.errorText)")
    ProbeTests.expectFit(run)
    for line in run.lines {
      let answer = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
      if let error = answer["error"] as? [String: Any] {
        let code = error["code"] as? String ?? "?"
        #expect(!Self.never.contains(code), "\(line)")
        codes[code, default: 0] += 1
      } else if let file = answer["file"] as? String {
        mended.append((answer["path"] as? String ?? "", file))
      } else {
        codes["well", default: 0] += 1
      }
    }
    let files = try Self.files(below: bench.folder.appendingPathComponent(target))
    // Foundation lists no name that is not UTF-8.
    #expect(files.count <= mended.count && files.count >= mended.count - 10)
    // What is a hole in a file is one in the mended one.
    let stored = try files.reduce(0) {
      try $0 + ($1.resourceValues(forKeys: [.totalFileAllocatedSizeKey]).totalFileAllocatedSize ?? 0)
    }
    #expect(stored < 256 << 20)
    #expect(!files.contains { $0.lastPathComponent.contains(".reel-mend-") })
    guard !mended.isEmpty else { return }
    let probed = try bench.reel("probe", "--jsonl", target)
    #expect(probed.status == 0, "\(probed.text)")
  }

  private static func files(below folder: URL) throws -> [URL] {
    let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    return names.map { folder.appendingPathComponent($0) }.filter { url in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) && !isFolder.boolValue
    }
  }
}
