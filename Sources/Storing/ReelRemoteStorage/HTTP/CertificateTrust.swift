import CCurl
import FoundationEssentials
import Glibc
import ReelCore

/// Certificates in PEM form that are trusted in addition to the system's.
struct ExtraCertificates: Sendable {
  /// The file's content without a byte order mark, after which OpenSSL would find no certificate.
  let text: Data

  /// Reads a file. Blocks.
  /// - Throws: ``HTTPFailure/untrusted(_:)`` if the file holds no certificate, or a block that is labeled as one but
  ///   is not.
  init(path: String) throws(HTTPFailure) {
    let bytes = try? Data(contentsOf: URL(filePath: path))
    let mark = Array("\u{FEFF}".utf8)
    let text = bytes.map { $0.starts(with: mark) ? Data($0.dropFirst(mark.count)) : $0 }
    guard let text, Self.areCertificates(text) else {
      throw .untrusted(
        "the certificates in \(path) can't be used; it must be a readable file in PEM form")
    }
    self.text = text
  }

  /// Whether there is at least one block labeled as a certificate (RFC 7468), and each begins like one in DER.
  private static func areCertificates(_ text: Data) -> Bool {
    var block: Data?
    var count = 0
    // Split bytes rather than characters: a system's bundle has 3,000 lines.
    for line in Array(text).split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
      if line.starts(with: "-----BEGIN".utf8),
        String(decoding: line, as: UTF8.self).contains("CERTIFICATE-----")
      {
        block = Data()
      } else if line.starts(with: "-----END".utf8), let held = block {
        // A SEQUENCE whose length takes one byte or two (X.690, 8.1.3): no certificate is longer than 65,535 bytes.
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

/// The trusted certificates, as libcurl takes them: a bundle, which it then reads once for all connections.
struct CertificateTrust: Sendable {
  private let bundle: String?
  /// The directory in which certificates are looked up by the hashes of their names; nil if the bundle has them all.
  private let directory: String?
  /// Holds the system's and the extra certificates together.
  private let file: Descriptor?

  /// - Parameters:
  ///   - system: the bundle and directory that libcurl trusts by default.
  ///   - extra: certificates trusted in addition.
  /// - Throws: ``HTTPFailure/untrusted(_:)`` if the two can't be combined.
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
    // If a directory were set beside it, libcurl would read the bundle again for every connection.
    for option in [CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH] { curl.set(easy, option, directory) }
  }

  /// Creates a file in memory.
  private static func file(holding bytes: Data) throws(SystemError) -> Descriptor {
    let made = reel_curl_memory_file()
    if made < 0 { throw SystemError(code: -made, call: "memfd_create") }
    let file = Descriptor(adopting: made)
    try file.write(all: bytes)
    return file
  }
}

/// The sockets of the connections that libcurl keeps for reuse, so that a connection on which input has arrived in the
/// meantime is not used: a second reply to the last request would be taken for the reply to the next one. (Before 8.1
/// libcurl itself does not check.) Used only by the loop's thread.
final class KeptConnections {
  /// What libcurl reports about a connection before it sends a request on it.
  struct Name: Hashable {
    let remote: String
    let remotePort: Int32
    let localPort: Int32
  }
  private var sockets: [Name: Int32] = [:]

  /// The number of entries at which the table is emptied; those of closed connections stay until then. If a descriptor
  /// number belongs to another file by then, no harm is done: at worst one more connection is made.
  private static let limit = 256

  func keep(_ name: Name, _ socket: Int32) {
    if sockets.count >= Self.limit { sockets.removeAll() }
    sockets[name] = socket
  }

  /// Whether unrequested bytes, or the end of the stream, have arrived on the connection.
  func hasInput(_ name: Name) -> Bool {
    guard let socket = sockets[name] else { return false }
    return reel_curl_has_input(socket) != 0
  }
}
