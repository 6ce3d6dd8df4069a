import FoundationEssentials
import Glibc
import ReelCore

/// A service account's key, as Google issues it: a file with one JSON object.
public struct ServiceAccountKey: Sendable {
  /// The account's email address.
  public let email: String
  /// The id of the key among those of the account; nil if the file does not state it.
  public let keyID: String?
  /// The project that the account belongs to; nil if the file does not state it.
  public let project: String?
  /// The RSA key in PEM form.
  let privateKey: Secret
  /// The address that issues tokens.
  let tokenAddress: WebAddress
  /// The path of the file, for messages.
  let path: String

  /// Reads the file at `path`.
  /// - Throws: `storeUnusable`, with a message that names the file and contains nothing of its content.
  public static func read(_ path: String) async throws(UploadError) -> ServiceAccountKey {
    let queue = BlockingQueue(label: "reel.service-account", width: 1)
    let bytes = try await queue.run { () throws(UploadError) in try KeyFile(path: path).contents() }
    return try ServiceAccountKey(bytes, path: path)
  }

  /// Parses the JSON of a key file.
  /// - Parameter path: for messages only.
  init(_ bytes: [UInt8], path: String) throws(UploadError) {
    guard let fields = try? JSONDecoder().decode(Fields.self, from: Data(bytes)) else {
      throw .badKey(
        path, "is not the JSON of one: download it again (Google Cloud console, IAM, Service accounts)")
    }
    guard fields.type ?? "service_account" == "service_account" else {
      throw .badKey(
        path, "is of the kind \"\(HTTPReply.oneLine(fields.type ?? ""))\": a service account's is needed")
    }
    let missing = [("client_email", fields.client_email), ("private_key", fields.private_key)]
      .filter { $0.1?.isEmpty ?? true }.map(\.0)
    guard missing.isEmpty, let email = fields.client_email, let key = fields.private_key else {
      throw .badKey(path, "lacks \(missing.joined(separator: " and ")): download it again")
    }
    tokenAddress = try rethrowing(
      as: { UploadError.badKey(path, "has a token_uri that can't be used: \($0.reason)") }
    ) { () throws(HTTPAddressError) in
      try WebAddress(parsing: fields.token_uri ?? "https://oauth2.googleapis.com/token")
    }
    self.email = HTTPReply.oneLine(email)
    privateKey = Secret(key)
    keyID = fields.private_key_id
    project = fields.project_id.flatMap { $0.isEmpty ? nil : $0 }
    self.path = path
  }

  private struct Fields: Decodable {
    let type: String?
    let project_id: String?
    let private_key_id: String?
    let private_key: String?
    let client_email: String?
    let token_uri: String?
  }
}

/// A file that contains a key. Only its owner may read it, and, if that is root, a group, as for a secret mounted into
/// a container (libpq has the same rule for its keys). Its calls block.
struct KeyFile {
  let path: String

  /// The maximum size of a key file in bytes; Google's have less than three thousand.
  private static let largest = 64 << 10

  /// - Throws: `storeUnusable`.
  func contents() throws(UploadError) -> [UInt8] {
    let (descriptor, status) = try rethrowing(as: unreadable) { () throws(SystemError) in
      let opened = try Descriptor(opening: path, O_RDONLY | O_NONBLOCK)
      return (opened, try opened.status())
    }
    if let objection = Self.objection(to: status) { throw .badKey(path, objection) }
    return try rethrowing(as: unreadable) { () throws(SystemError) in
      try descriptor.readToEnd(limit: Self.largest)
    }
  }

  /// Returns the reason not to use the file, if any.
  static func objection(to status: stat) -> ErrorMessage? {
    guard status.st_mode & S_IFMT == S_IFREG else { return "is not a regular file" }
    let isRoots = status.st_uid == 0
    guard status.st_mode & (isRoots ? 0o037 : 0o077) == 0 else {
      let mode = String(status.st_mode & 0o777, radix: 8)
      let advice =
        isRoots
        ? "make it root's alone (chmod 600), or a group's to read (chmod 640); a secret in a container is mounted with uid: "
          + "and mode: 0400 (Docker), or with fsGroup and defaultMode: 0440 (Kubernetes)"
        : "make it yours alone with chmod 600"
      return "can be read or changed by others (its mode is \(mode)): \(advice)"
    }
    return status.st_size > largest ? "has \(status.st_size) bytes, which no key has" : nil
  }

  private func unreadable(_ error: SystemError) -> UploadError {
    error.code == ENOENT
      ? .badKey(path, "is not there: name another with \(setting: .serviceAccount)")
      : .badKey(path, "can't be read (\(error.reason)): check its owner and its mode")
  }
}

extension UploadError {
  /// - Parameter reason: the end of a sentence that begins with the file; it contains nothing of the file's content.
  static func badKey(_ path: String, _ reason: ErrorMessage) -> UploadError {
    UploadError(.storeUnusable, "the service account key \(path) " + reason)
  }
}
