import Foundation
import ReelCore
import ReelHTTPFakes
import ReelRemoteStorage
import ReelTestSupport
import Testing

/// A certificate for `localhost`, but not for 127.0.0.1, that only the test trusts.
private final class TestCertificate: Sendable {
  let folder = FileManager.default.temporaryDirectory.appending(path: "reel-tls-\(UUID().uuidString)")
  var certificate: String { folder.appending(path: "cert.pem").path }
  private var key: String { folder.appending(path: "key.pem").path }

  static let openssl = URL(filePath: "/usr/bin/openssl")

  init() async throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let process = Process()
    process.executableURL = Self.openssl
    process.arguments = [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-subj",
      "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
    ]
    process.standardError = FileHandle.nullDevice
    let status = try await withCheckedThrowingContinuation {
      (ended: CheckedContinuation<Int32, any Error>) in
      process.terminationHandler = { ended.resume(returning: $0.terminationStatus) }
      do { try process.run() } catch { ended.resume(throwing: error) }
    }
    try #require(status == 0)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func server() throws -> TLSIdentity { try TLSIdentity(certificate: certificate, key: key) }
}

@Suite(
  "TLS", .needsOpenSSL,
  .shortTime)
struct TLSTests {
  private func outcome(_ rules: HTTPRules, host: String) async throws -> Result<Int, HTTPFailure> {
    let made = try await TestCertificate()
    let server = try await LoopbackServer.start(tls: try made.server()) { _ in .reply(204) }
    var rules = rules
    rules.timeouts = .patient()
    if rules.extraCertificates != nil { rules.extraCertificates = made.certificate }
    let call = HTTPCall(.get, HTTPOrigin(isSecure: true, host: host, port: server.port), "/")
    let result: Result<Int, HTTPFailure>
    do throws(HTTPFailure) {
      result = .success(try await CurlTransport(rules).send(call).status.code)
    } catch {
      result = .failure(error)
    }
    await server.stop()
    return result
  }

  @Test("a configured certificate is trusted")
  func trusted() async throws {
    #expect(try await outcome(HTTPRules(extraCertificates: "made"), host: "localhost") == .success(204))
  }

  @Test("a certificate that is not configured is not trusted")
  func untrusted() async throws {
    guard case .failure(.untrusted(let reason)) = try await outcome(HTTPRules(), host: "localhost") else {
      Issue.record("it was trusted")
      return
    }
    #expect(reason.contains("an authority that this machine trusts"), "\(reason)")
  }

  @Test("a certificate for another name is not trusted")
  func otherName() async throws {
    guard
      case .failure(.untrusted(let reason)) = try await outcome(
        HTTPRules(extraCertificates: "made"), host: "127.0.0.1")
    else {
      Issue.record("it was trusted")
      return
    }
    #expect(reason == "its certificate is for another name")
  }

  @Test("a connection closed in the middle of the handshake is worth a retry")
  func closed() async throws {
    let server = try HangingUpServer()
    let call = HTTPCall(.get, HTTPOrigin(isSecure: true, host: "127.0.0.1", port: server.port), "/")
    let failure = await #expect(throws: HTTPFailure.self) {
      _ = try await CurlTransport.patient().send(call)
    }
    server.stop()
    let error = try #require(failure.map { UploadError($0, store: "s3://b") })
    #expect(error.code.isWorthARetry, "\(failure as Any)")
  }

  @Test("TLS 1.1 is refused, even if the certificate is trusted")
  func old() async throws {
    let authority = try await TestAuthority()
    let server = try await authority.serve(isOld: true) { _ in .reply(204) }
    let transport = try CurlTransport(
      HTTPRules(extraCertificates: authority.certificate, timeouts: .patient()))
    let failure = await #expect(throws: HTTPFailure.self) {
      _ = try await transport.send(
        HTTPCall(.get, HTTPOrigin(isSecure: true, host: "localhost", port: server.port), "/"))
    }
    #expect(failure == .untrusted("it speaks no TLS version above 1.1, which is not safe"))
    #expect(server.requests.isEmpty)
    await server.stop()
  }

  @Test("a byte order mark does not hide a certificate")
  func byteOrderMark() async throws {
    let authority = try await TestAuthority()
    let plain = try Data(contentsOf: URL(filePath: authority.certificate))
    let marked = FileManager.default.temporaryDirectory.appending(path: "reel-mark-\(UUID().uuidString).pem")
    try (Data("\u{FEFF}".utf8) + plain).write(to: marked)
    defer { try? FileManager.default.removeItem(at: marked) }
    let server = try await authority.serve { _ in .reply(204) }
    let transport = try CurlTransport(HTTPRules(extraCertificates: marked.path, timeouts: .patient()))
    let reply = try await transport.send(
      HTTPCall(.get, HTTPOrigin(isSecure: true, host: "localhost", port: server.port), "/"))
    #expect(reply.status.code == 204)
    await server.stop()
  }

  @Test("https to a plain http server fails, and so does an empty certificate file")
  func mistakes() async throws {
    let server = try await LoopbackServer.start { _ in .reply(204) }
    let call = HTTPCall(.get, HTTPOrigin(isSecure: true, host: "127.0.0.1", port: server.port), "/")
    await #expect(throws: HTTPFailure.self) { _ = try await CurlTransport().send(call) }
    await server.stop()
    let error = #expect(throws: HTTPFailure.self) {
      _ = try CurlTransport(HTTPRules(extraCertificates: "/dev/null"))
    }
    #expect("\(error as Any)".contains("/dev/null"))
  }
}
