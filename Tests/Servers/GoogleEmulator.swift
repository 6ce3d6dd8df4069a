import Foundation
import Testing
import ReelTestSupport

/// An emulator of one of Google's services: a process on a port of 127.0.0.1 that ends with this value.
package final class GoogleEmulator: Sendable {
  /// The port on 127.0.0.1.
  package var port: Int { server.port }

  private let server: ServerProcess

  /// Cloud Storage: gcp-storage-emulator (PyPI), where `scripts/test` installs it.
  package static let storage: String? = existing(environment + "/installed").map { _ in
    environment + "/bin/python"
  }
  private static let environment = root.appending(path: ".build/servers/gcs").path

  /// The reason for skipping tests without it.
  package static let storageAbsence: Comment =
    "gcp-storage-emulator is not installed (scripts/lib/gcs-emulator install .build/servers/gcs)"

  /// Firestore: Google's own emulator, where Google's Debian package installs it.
  package static let firestore: String? = existing(
    "/usr/lib/google-cloud-sdk/platform/cloud-firestore-emulator/cloud-firestore-emulator.jar")

  /// The reason for skipping tests without it.
  package static let firestoreAbsence: Comment =
    "Google's Firestore emulator is not installed (google-cloud-cli-firestore-emulator, and java)"

  private static let root = Checkout.root

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
    let python = URL(filePath: try #require(python))
    let script = root.appending(path: "Tests/GoogleServers/\(script)").path
    return GoogleEmulator(try await ServerProcess.start(python, [script] + arguments))
  }

  private init(_ server: ServerProcess) {
    self.server = server
  }

  /// Ends it, and waits until it is gone.
  package func stop() async { await server.stop() }
}
