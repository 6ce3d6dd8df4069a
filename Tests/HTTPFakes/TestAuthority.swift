import Foundation

/// A certificate authority that no client trusts unless it is told to, and a certificate that it issued for one name,
/// by default `localhost`, and not for 127.0.0.1.
package final class TestAuthority: Sendable {
  private let folder = FileManager.default.temporaryDirectory.appending(
    path: "reel-authority-\(UUID().uuidString)")
  private static let openssl = URL(filePath: "/usr/bin/openssl")

  /// Whether OpenSSL's program, which makes one, is installed.

  /// The certificate for a client to trust, in PEM form.
  package var certificate: String { path("authority.pem") }

  /// The certificate that a server shows, and its key, in PEM form.
  package var shown: String { path("server.pem") }
  package var key: String { path("server.key") }

  /// Makes new certificates, valid for two days.
  package init(for name: String = "localhost") async throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    try await run(
      new + ["-days", "2", "-subj", "/CN=an authority of a test"],
      ["-keyout", path("authority.key"), "-out", certificate])
    try await run(
      new + ["-days", "2", "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)"],
      [
        "-CA", certificate, "-CAkey", path("authority.key"), "-keyout", path("server.key"), "-out",
        path("server.pem"),
      ])
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// A server that shows the certificate.
  /// - Parameter isOld: whether it speaks nothing newer than TLS 1.1.
  package func serve(
    isOld: Bool = false, _ answer: @escaping @Sendable (ReceivedRequest) -> ServerAction
  ) async throws -> LoopbackServer {
    try await LoopbackServer.start(
      tls: try TLSIdentity(certificate: path("server.pem"), key: path("server.key"), isOld: isOld), answer)
  }

  private func path(_ name: String) -> String { folder.appending(path: name).path }

  private func run(_ arguments: [String], _ more: [String]) async throws {
    let process = Process()
    process.executableURL = Self.openssl
    process.arguments = arguments + more
    process.standardError = FileHandle.nullDevice
    let status = try await withCheckedThrowingContinuation {
      (ended: CheckedContinuation<Int32, any Error>) in
      process.terminationHandler = { ended.resume(returning: $0.terminationStatus) }
      do { try process.run() } catch { ended.resume(throwing: error) }
    }
    if status != 0 { throw Unmade(arguments: arguments + more, status: status) }
  }

  private struct Unmade: Error {
    let arguments: [String]
    let status: Int32
  }
}
