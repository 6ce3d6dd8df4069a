import Foundation
import ReelTestSupport

extension Workbench {
  /// Returns the environment of the same machine after a reboot.
  func otherBoot() async throws -> [String: String] {
    let boot = folder.appendingPathComponent("boot-id")
    try Data("11111111-2222-4333-8444-555555555555\n".utf8).write(to: boot)
    return try await SystemShim.environment(root: folder, ["REEL_SHIM_BOOT": boot.path])
  }
}

/// `Tests/SystemShim/shim.c`, preloaded into the real binary. It makes system calls fail, records what is written, and
/// changes the clock.
enum SystemShim {
  /// A sanitizer's library must be loaded first.
  static let isPossible = !TestForm.isSanitized

  private static let library = PreloadedLibrary.build("SystemShim/shim.c", ["-ldl"])

  /// Returns the environment that makes the shim act on the files in `root`.
  static func environment(root: URL, _ settings: [String: String]) async throws -> [String: String] {
    settings.merging(["LD_PRELOAD": try await library.value.path, "REEL_SHIM_ROOT": root.path]) { $1 }
  }

  /// How often a complete run makes each call, and whether a fault occurred.
  struct Counts {
    let calls: [String: Int]
    let fired: Bool

    init(_ file: URL) throws {
      let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
      var counts: [String: Int] = [:]
      for line in lines {
        let words = line.split(separator: " ")
        counts[String(words[0])] = Int(words[1])
      }
      fired = counts.removeValue(forKey: "fired") == 1
      calls = counts
    }
  }
}

/// `Tests/PausingVFS/pausing_vfs.c`, preloaded into the real binary. It pauses checkpoints at critical points.
enum PausingVFS {
  private static let library = PreloadedLibrary.build("PausingVFS/pausing_vfs.c", [])

  static func environment(pausing longest: Int, seed: UInt64) async throws -> [String: String] {
    [
      "LD_PRELOAD": try await library.value.path, "REEL_PAUSE_CHECKPOINTS": "\(longest)",
      "REEL_SEED": "\(seed % 1_000_000)",
    ]
  }
}

private enum PreloadedLibrary {
  private struct NotBuilt: Error {
    let why: String
  }

  /// Built once per test run, by the compiler that built Reel's C.
  static func build(_ source: String, _ libraries: [String]) -> Task<URL, any Error> {
    Task {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("reel-shim-\(getpid())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let source = ReelBinary.project.appendingPathComponent("Tests").appendingPathComponent(source)
      let built = folder.appendingPathComponent(source.lastPathComponent + ".so")
      let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"
      let outcome = try await ReelBinary.start(
        ["-std=gnu11", "-Wall", "-Werror", "-shared", "-fPIC", "-O1", "-o", built.path, source.path]
          + libraries,
        in: folder, environment: ["PATH": path], program: URL(fileURLWithPath: "/usr/bin/env"),
        launcher: ["/usr/bin/env", "clang"], appendingProgram: false
      ).outcome()
      guard outcome.status == 0 else { throw NotBuilt(why: outcome.errors) }
      return built
    }
  }
}
