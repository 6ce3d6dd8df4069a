import Foundation
import Glibc
import Synchronization
import Testing

/// One of the emulators of Google's services, a process on a port of 127.0.0.1 that ends with this value.
package final class GoogleEmulator: Sendable {
  /// 127.0.0.1's port.
  package let port: Int

  private let process: Process
  private let input: Pipe

  /// Cloud Storage: gcp-storage-emulator (PyPI), where `scripts/test` installs it.
  package static let storage: String? = existing(root.appending(path: ".build/servers/gcs/bin/python").path)

  /// Said when it is not there.
  package static let storageAbsence: Comment =
    "SKIPPED: gcp-storage-emulator is not installed (scripts/lib/gcs-emulator install .build/servers/gcs)"

  /// Firestore: Google's own, where Debian's package of Google's puts it.
  package static let firestore: String? = existing(
    "/usr/lib/google-cloud-sdk/platform/cloud-firestore-emulator/cloud-firestore-emulator.jar")

  /// Said when it is not there.
  package static let firestoreAbsence: Comment =
    "SKIPPED: Google's Firestore emulator is not installed (google-cloud-cli-firestore-emulator, and java)"

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static func existing(_ path: String) -> String? {
    FileManager.default.fileExists(atPath: path) ? path : nil
  }

  /// A Cloud Storage with one empty bucket.
  package static func startStorage(bucket: String) async throws -> GoogleEmulator {
    try await start(storage, "storage.py", [bucket])
  }

  /// A Firestore with nothing in it.
  package static func startFirestore() async throws -> GoogleEmulator {
    let folder = firestore.map { URL(filePath: $0).deletingLastPathComponent().path } ?? ""
    return try await start(existing("/usr/bin/python3"), "firestore.py", [folder])
  }

  private static func start(_ python: String?, _ script: String, _ arguments: [String]) async throws
    -> GoogleEmulator
  {
    let (process, input) = (Process(), Pipe())
    process.executableURL = URL(filePath: try #require(python))
    let output = FileManager.default.temporaryDirectory.appending(path: "reel-google-\(UUID().uuidString)")
    try Data().write(to: output)
    defer { try? FileManager.default.removeItem(at: output) }
    process.arguments = [root.appending(path: "Tests/GoogleServers/\(script)").path] + arguments
    process.standardInput = input
    process.standardOutput = try FileHandle(forWritingTo: output)
    // The server ends when this pipe does: nobody else may hold it open.
    _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
    try process.run()
    while process.isRunning {
      let said = String(decoding: try Data(contentsOf: output), as: UTF8.self)
      if said.hasPrefix("ready "), said.hasSuffix("\n"), let port = Int(said.dropFirst(6).dropLast()) {
        return GoogleEmulator(port: port, process, input)
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw ServerError(description: "\(script) did not start")
  }

  private init(port: Int, _ process: Process, _ input: Pipe) {
    (self.port, self.process, self.input) = (port, process, input)
  }

  deinit { try? input.fileHandleForWriting.close() }

  /// Ends it, and waits until it is gone.
  package func stop() async {
    try? input.fileHandleForWriting.close()
    while process.isRunning { try? await Task.sleep(for: .milliseconds(20)) }
  }
}
