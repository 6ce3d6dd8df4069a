import Foundation
import Testing

/// A run of `reel mend` over hostile files, and what it wrote.
struct MendRun {
  /// Codes that no file may cause: they are faults of Reel or of the installation.
  private static let never: Set = [
    "sandboxViolation", "implausible", "workerMissing", "workerBroken", "isolationUnavailable", "noReader",
    "tooManyOpenFiles", "cancelled", "crashed", "?",
  ]
  /// The source and the mended file of each file that was mended, with the paths as reported.
  private(set) var mended: [(source: String, file: String)] = []
  /// The number of files that ended with each code.
  private(set) var codes: [String: Int] = [:]

  /// Mends all files of `bench` into the folder `target`. Each must end with a code or a file, and nothing else may
  /// remain.
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
    // Foundation does not list names that are not UTF-8.
    #expect(files.count <= mended.count && files.count >= mended.count - 10)
    // A hole in a file remains one in the mended file.
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
