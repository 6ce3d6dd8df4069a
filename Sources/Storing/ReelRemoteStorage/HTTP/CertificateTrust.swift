import CCurl
import FoundationEssentials
import Glibc
import ReelCore

/// Certificates in PEM form that are trusted beside the system's.
struct ExtraCertificates: Sendable {
  /// As it stands in the file, without a byte order mark, behind which OpenSSL finds no certificate.
  let text: Data

  /// Reads a file. Blocks.
  /// - Throws: ``HTTPFailure/untrusted(_:)`` when no certificate is in it, or something that is called one and is none.
  init(path: String) throws(HTTPFailure) {
    let bytes = try? Data(contentsOf: URL(filePath: path))
    let mark = Array("\u{FEFF}".utf8)
    let text = bytes.map { $0.starts(with: mark) ? Data($0.dropFirst(mark.count)) : $0 }
    guard let text, Self.areCertificates(text) else {
      throw .untrusted(
        "the certificates in \(path) can't be used; it is a file in PEM form that can be read")
    }
    self.text = text
  }

  /// Whether every block that says so (RFC 7468) holds what a certificate begins with in DER, and there is one.
  private static func areCertificates(_ text: Data) -> Bool {
    var block: Data?
    var count = 0
    // By bytes: a system's bundle has 3,000 lines.
    for line in Array(text).split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
      if line.starts(with: "-----BEGIN".utf8),
        String(decoding: line, as: UTF8.self).contains("CERTIFICATE-----")
      {
        block = Data()
      } else if line.starts(with: "-----END".utf8), let held = block {
        // A SEQUENCE whose length takes one byte or two (X.690, 8.1.3): none is longer than 65,535.
        let start = Data(base64Encoded: held)?.prefix(2)
        guard start?.first == 0x30, [0x81, 0x82].contains(start?.last) else { return false }
        block = nil
        count += 1
      } else {
        block?.append(contentsOf: line.filter { $0 != 0x20 && $0 != 0x09 })
      }
    }
    return count > 0 && block == nil
  }
}

/// Who is trusted, as libcurl is told: a bundle, which it then reads once for all connections.
struct CertificateTrust: Sendable {
  private let bundle: String?
  /// Where certificates are looked up by their names' hashes; nil where the bundle has them all.
  private let directory: String?
  /// Holds system's and extra certificates together.
  private let file: Descriptor?

  /// - Parameters:
  ///   - system: what libcurl trusts by itself.
  ///   - extra: trusted beside it.
  /// - Throws: ``HTTPFailure/untrusted(_:)`` when the two can't be put together.
  init(
    _ system: (bundle: String?, directory: String?), _ extra: ExtraCertificates?
  ) throws(HTTPFailure) {
    let known = system.bundle.flatMap { try? Data(contentsOf: URL(filePath: $0)) }
    directory = known == nil ? system.directory : nil
    guard let extra else {
      (bundle, file) = (known == nil ? nil : system.bundle, nil)
      return
    }
    let file = try rethrowing(
      as: {
        HTTPFailure.untrusted("the system's certificates and yours can't be put together: \($0.reason)")
      }
    ) { () throws(SystemError) in
      try Self.file(holding: (known ?? Data()) + Data("\n".utf8) + extra.text)
    }
    (bundle, self.file) = ("/proc/self/fd/\(file.rawValue)", file)
  }

  func set(_ curl: Curl, _ easy: Curl.Easy) {
    for option in [CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO] { curl.set(easy, option, bundle) }
    // With a directory beside it, the bundle would be read again for every connection.
    for option in [CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH] { curl.set(easy, option, directory) }
  }

  /// A file in memory.
  private static func file(holding bytes: Data) throws(SystemError) -> Descriptor {
    let made = reel_curl_memory_file()
    if made < 0 { throw SystemError(code: -made, call: "memfd_create") }
    let file = Descriptor(adopting: made)
    try file.write(all: bytes)
    return file
  }
}

/// The sockets of connections that libcurl keeps for later, so that one on which something came in the meantime is left
/// alone: a second reply to the last request would be taken for the reply to the next one. (Before 8.1 libcurl itself
/// does not look.) Of a transfer's thread alone.
final class KeptConnections {
  /// What libcurl tells of a connection before a request goes out on it.
  struct Name: Hashable {
    let remote: String
    let remotePort: Int32
    let localPort: Int32
  }
  private var sockets: [Name: Int32] = [:]

  /// Ended ones stay until so many are known. A number that is another file by then does no harm: at worst one
  /// connection more is made.
  private static let limit = 256

  func keep(_ name: Name, _ socket: Int32) {
    if sockets.count >= Self.limit { sockets.removeAll() }
    sockets[name] = socket
  }

  /// Whether something came that nobody asked for, or the end.
  func hasInput(_ name: Name) -> Bool {
    guard let socket = sockets[name] else { return false }
    return reel_curl_has_input(socket) != 0
  }
}
