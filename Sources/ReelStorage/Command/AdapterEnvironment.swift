/// The environment that an adapter gets: what every program needs, and what the user lets through by name.
///
/// Credentials of other tools that happen to be in our environment are none of an adapter's business.
public struct AdapterEnvironment: Sendable {
  /// Passed where they are set, besides `LC_*`.
  public static let always: Set<String> = [
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
  ]
  /// What begins so is meant for an adapter.
  public static let prefix = "REEL_ADAPTER_"

  /// Whether there is anything that was let through by name or prefix, which may be a secret.
  public let letsThrough: Bool

  /// What the adapter gets.
  let variables: [String: String]
  /// What must not show up in what it says: values that were let through by name or prefix, the longest first.
  private let secrets: [(name: String, value: String)]

  /// - Parameters:
  ///   - environment: ours.
  ///   - names: which more of its variables are passed; one that is not set is left out.
  public init(of environment: [String: String], allowing names: some Sequence<String> = []) {
    let names = Set(names)
    var variables: [String: String] = [:]
    var secrets: [(name: String, value: String)] = []
    var letsThrough = false
    for (name, value) in environment where Self.passes(name, allowing: names) {
      variables[name] = value
      guard Self.isMeant(name, names) else { continue }
      letsThrough = true
      secrets += Self.forms(of: value).map { (name, $0) }
    }
    if variables["PATH"] == nil { variables["PATH"] = "/usr/local/bin:/usr/bin:/bin" }
    self.letsThrough = letsThrough
    self.variables = variables
    self.secrets = secrets.sorted {
      ($0.value.utf8.count, $0.name, $0.value) > ($1.value.utf8.count, $1.name, $1.value)
    }
  }

  /// Whether an adapter gets the variable `name` where `names` are let through.
  package static func passes(_ name: String, allowing names: some Collection<String>) -> Bool {
    isMeant(name, names) || always.contains(name) || name.hasPrefix("LC_")
  }

  private static func isMeant(_ name: String, _ names: some Collection<String>) -> Bool {
    names.contains(name) || name.hasPrefix(prefix)
  }

  /// How `value` may show up: as it is, line by line (what quotes a key of several lines often prints one of them), and
  /// as JSON writes it.
  private static func forms(of value: String) -> Set<String> {
    let lines = value.split(whereSeparator: \.isNewline).map { line in
      let begun = line.drop(while: \.isWhitespace)
      return String(begun.prefix(begun.count - begun.reversed().prefix(while: \.isWhitespace).count))
    }
    let plain = [value] + lines
    let json = plain.map { text in
      [("\\", "\\\\"), ("\"", "\\\""), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")]
        .reduce(text) { $0.replacing($1.0, with: $1.1) }
    }
    let slashed = json.map { $0.replacing("/", with: "\\/") }
    return Set((plain + json + slashed).filter { $0.utf8.count >= shortestSecret })
  }

  /// A shorter value would turn every message into holes.
  private static let shortestSecret = 6

  /// `text` with each value that was let through replaced by its name: an adapter that prints its token when it
  /// fails does not put it into our events.
  func withoutSecrets(_ text: String) -> String {
    var text = text
    for (name, value) in secrets where text.contains(value) {
      text = text.replacing(value, with: "‹\(name)›")
    }
    return text
  }
}
