import ReelCore

/// The destination that `--to` names, as the user wrote it.
public enum DestinationAddress: Hashable, Sendable {
  /// A folder's path, absolute or relative to the working folder.
  case folder(path: String)
  /// A program that stores objects (docs/command-uploader.md): its path, absolute or relative to the working folder,
  /// and which of its stores is meant.
  case command(path: String, store: String?)
  /// A tus server where uploads are created: `tus+https://…` or `tus+http://…` (docs/tus.md).
  case tus(address: String)
  /// A bucket of a store that speaks the protocol of Amazon S3.
  case s3(S3Address)
  /// A bucket of Cloud Storage for Firebase, and the posts in Firestore (docs/firebase.md).
  case firebase(FirebaseAddress)

  /// Parses a folder's path, a `file:` URL (RFC 8089), `command:PATH#STORE`, or the address of a tus server or of a
  /// bucket (``S3Address``, ``FirebaseAddress``).
  ///
  /// Text that begins with `NAME://`, with `command:` or with a store's name and a colon (`s3:`, `tus+https:`) is never
  /// taken for a path: write `./` before a folder that really has such a name.
  /// - Throws: ``DestinationAddressError``, with a sentence for the user.
  public init(parsing text: String) throws(DestinationAddressError) {
    guard !text.isEmpty else { throw DestinationAddressError(.empty, "an empty destination: name a folder") }
    guard !text.utf8.contains(0) else { throw .notAPath(text, "a path can't contain a NUL byte") }
    guard let scheme = Self.scheme(of: text) else {
      if let colon = text.firstIndex(of: ":"), !text[..<colon].contains("/"),
        "/\\".contains(text[colon...].dropFirst().first ?? " ")
      {
        throw .notAPath(
          text,
          "it is written like a folder of another machine; mount that here, and name the folder where it is mounted "
            + "(for a folder of that name write ./\(text[...colon])…)")
      }
      self = .folder(path: try Self.path(text))
      return
    }
    switch scheme {
    case "file": self = .folder(path: try Self.path(ofFileURL: text))
    case "command": self = try Self.command(text)
    case "tus+https", "tus+http":
      try Self.checkSlashes(text, scheme, like: "\(scheme)://host/files/", .notAServer)
      self = .tus(address: text)
    case "tus":
      try Self.checkSlashes(text, scheme, like: "tus+https://host/files/", .notAServer)
      throw .unsupported(scheme: scheme)
    case "s3", "s3+https", "s3+http":
      try Self.checkSlashes(text, scheme, like: Self.bucket(scheme), .notABucket)
      self = .s3(try S3Address(parsing: text, scheme: scheme))
    case "firebase", "firebase+https", "firebase+http":
      try Self.checkSlashes(text, scheme, like: Self.bucket(scheme), .notABucket)
      self = .firebase(try FirebaseAddress(parsing: text, scheme: scheme))
    default: throw .unsupported(scheme: scheme)
    }
  }

  /// The lower-case scheme, or nil when `text` is a path.
  private static func scheme(of text: String) -> String? {
    guard let colon = text.firstIndex(of: ":") else { return nil }
    let scheme = text[..<colon].lowercased()
    let isName = scheme.utf8.allSatisfy { byte in
      byte.isASCIILowercase || byte.isASCIIDigit || "+-.".utf8.contains(byte)
    }
    guard isName, let first = scheme.utf8.first, first.isASCIILowercase else { return nil }
    return text[colon...].hasPrefix("://") || known.contains(scheme) ? scheme : nil
  }

  /// Schemes that are recognized even without `//`, as nobody means a folder by them.
  private static let known: Set = [
    "file", "command", "tus", "tus+https", "tus+http", "s3", "s3+https", "s3+http", "firebase",
    "firebase+https", "firebase+http",
  ]

  /// Rejects an address without the slashes, rather than take it for a folder. The message does not repeat the address,
  /// which may hold a password.
  private static func checkSlashes(
    _ text: String, _ scheme: String, like example: String, _ code: DestinationAddressError.Code
  ) throws(DestinationAddressError) {
    guard !text.dropFirst(scheme.count).hasPrefix("://") else { return }
    throw DestinationAddressError(
      code,
      "a destination that begins with \(scheme): is written like \(example) (for a folder of that name write "
        + "./\(scheme):…)")
  }

  private static func bucket(_ scheme: String) -> String {
    scheme.contains("+") ? "\(scheme)://host/bucket/prefix" : "\(scheme)://bucket/prefix"
  }

  private static func path(_ text: String) throws(DestinationAddressError) -> String {
    if let problem = ShellWord.unexpandedHome(in: text) { throw .notAPath(text, problem) }
    return text
  }

  private static func path(ofFileURL text: String) throws(DestinationAddressError) -> String {
    var rest = text.dropFirst("file:".count)
    if rest.hasPrefix("//") {
      rest = rest.dropFirst(2)
      if rest.lowercased().hasPrefix("localhost/") { rest = rest.dropFirst("localhost".count) }
    }
    guard rest.hasPrefix("/") else {
      throw .notAPath(text, "a file URL has an absolute path and no host: file:///srv/media")
    }
    guard !rest.contains(where: { $0 == "?" || $0 == "#" }) else {
      throw .notAPath(text, "a folder's URL has no query and no fragment; write ? as %3F and # as %23")
    }
    guard let path = PercentEncoding.decode(rest), !path.utf8.contains(0) else {
      throw .notAPath(text, "its percent-encoding does not decode to a path in UTF-8")
    }
    return path
  }

  /// Reads `command:PATH#STORE`. In the path, `#` is written as `%23` and `%` as `%25`.
  private static func command(_ text: String) throws(DestinationAddressError) -> DestinationAddress {
    let halves = text.dropFirst("command:".count)
      .split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    guard let path = halves.first.flatMap(PercentEncoding.decode), !path.isEmpty, !path.utf8.contains(0)
    else {
      throw DestinationAddressError(
        .notAPath, "command: names a program, such as command:./adapter or command:/opt/adapter#store")
    }
    let store = halves.count > 1 ? String(halves[1]) : nil
    guard store.map(AdapterProgram.isStoreName) ?? true else {
      throw DestinationAddressError(
        .notAPath, "what follows # in command:PATH#STORE has letters, digits and -_./ only, 1 to 200 of them")
    }
    return .command(path: path, store: store)
  }
}

/// Why a destination can't be used.
public struct DestinationAddressError: ReelError, Hashable {
  /// The kind of mistake, for programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// Nothing was given.
    case empty
    /// A kind of store that this version does not support.
    case unsupported
    /// Meant as a path or a file URL, but not a valid one.
    case notAPath
    /// Meant as a bucket's address, but not a valid one.
    case notABucket
    /// Meant as a tus server's address, but not a valid one.
    case notAServer
  }
  /// The kind of mistake.
  public let code: Code
  /// What is wrong and what to write instead; one sentence for people.
  public let text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }

  package init(_ code: Code, _ message: ErrorMessage) {
    self.code = code
    text = message
  }

  static func notAPath(_ text: String, _ reason: String) -> DestinationAddressError {
    DestinationAddressError(.notAPath, "the destination \(text) is not a folder: \(reason)")
  }

  /// Names only the scheme, as what follows it may hold a password.
  static func unsupported(scheme: String) -> DestinationAddressError {
    let kind =
      switch scheme {
      case "tus": "plain tus:// addresses (write tus+https://host/files/)"
      default: "destinations of the type \(scheme)"
      }
    return DestinationAddressError(
      .unsupported,
      "Reel \(ReelVersion.current) does not support \(kind): name a folder (./media, file:///srv/media), a bucket "
        + "(s3://bucket/prefix, firebase://bucket/prefix), a tus server (tus+https://host/files/) or a program of yours "
        + "(command:./adapter)"
    )
  }
}
