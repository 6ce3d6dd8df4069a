import Foundation
import ReelSystem
import Testing

@Suite struct OwnerLockTests {
  /// Runs `body` in a folder of its own.
  private func inFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "reel-lock-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.path)
  }

  @Test func livesAsLongAsItIsHeld() async throws {
    try await inFolder { folder in
      var lock: OwnerLock? = try OwnerLock(directory: folder, name: "a")
      #expect(lock?.name == "a")
      #expect(try OwnerLock.isAlive(directory: folder, name: "a"))
      lock = nil
      #expect(try !OwnerLock.isAlive(directory: folder, name: "a"))
      #expect(FileManager.default.fileExists(atPath: folder + "/a.owner"))
    }
  }

  @Test func leavesNothingWhenRetired() async throws {
    try await inFolder { folder in
      let lock = try OwnerLock(directory: folder, name: "a")
      lock.retire()
      #expect(try !OwnerLock.isAlive(directory: folder, name: "a"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }
  }

  @Test func isForItsOwnerOnlyToRead() async throws {
    try await inFolder { folder in
      let lock = try OwnerLock(directory: folder, name: "a")
      let mode = try FileManager.default.attributesOfItem(atPath: folder + "/a.owner")[.posixPermissions]
      #expect(mode as? Int == 0o600)
      lock.retire()
    }
  }

  /// Who asks must not be taken for the owner by another who asks at the same moment.
  @Test func manyMayAskAtOnceForTheDead() async throws {
    try await inFolder { folder in
      _ = try OwnerLock(directory: folder, name: "dead")
      let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
        for _ in 0..<8 {
          group.addTask {
            try (0..<2000).contains { _ in try OwnerLock.isAlive(directory: folder, name: "dead") }
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(!answers.contains(true))
    }
  }

  @Test func saysWhyItCannotLock() async throws {
    try await inFolder { folder in
      let error = #expect(throws: SystemError.self) {
        try OwnerLock(directory: folder + "/missing", name: "a")
      }
      #expect(error?.code == ENOENT)
      let isAlive = try OwnerLock.isAlive(directory: folder, name: "never")
      #expect(!isAlive)
    }
  }
}
