import FoundationEssentials
import ReelCore
import ReelCrypto
import ReelPostgres
import ReelValidation
import Synchronization

/// A policy as a worker of the queue gets it: its file together with the files that it extends, so that it is the same
/// on every machine, whatever the files are called there.
package struct PolicyBundle: Codable {
  /// A policy file that was read.
  private struct File: Codable {
    /// The index of the file that extends it; nil for the first file.
    let from: Int?
    /// Its name as written in that file.
    let name: String
    let text: String
  }

  /// The name given to the first file.
  private static let root = "policy.yaml"

  private let files: [File]

  /// - Parameter name: the name of a preset or of a file.
  package static func shared(_ name: String) throws(PolicyError) -> QueuePolicy {
    let files = Mutex<[File]>([])
    let sources = Mutex<[String]>([])
    _ = try PolicyLibrary { name, from throws(PolicyError) in
      let (bytes, source) = try PolicyLibrary.file(name, from: from)
      let parent = sources.withLock { sources in from.flatMap { sources.firstIndex(of: $0) } }
      sources.withLock { $0.append(source) }
      files.withLock {
        $0.append(
          File(
            from: parent, name: parent == nil ? root : name, text: String(decoding: bytes, as: UTF8.self)))
      }
      return (bytes, source)
    }.policy(name)
    let found = files.withLock { $0 }
    if found.isEmpty { return QueuePolicy(name: name, document: nil) }
    return PolicyBundle(files: found).policy(named: name)
  }

  private func policy(named name: String) -> QueuePolicy {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Encoding can't fail: there are only strings and numbers.
    let json = (try? encoder.encode(self)).map { Array($0) } ?? []
    let digest = Hexadecimal.text(SHA256.hash(data: json).prefix(8))
    let file = name.split(separator: "/").last ?? ""
    let stem = (file.split(separator: ".").first ?? "policy").unicodeScalars.prefix(60).map { scalar in
      scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
        ? String(scalar) : "-"
    }
    return QueuePolicy(
      name: "\(stem.joined())@\(digest)", document: String(decoding: json, as: UTF8.self))
  }

  /// Reads a policy that ``shared(_:)`` made.
  package static func read(_ shared: QueuePolicy) throws(PolicyError) -> Policy {
    guard let document = shared.document else { return try PolicyLibrary.local.policy(shared.name) }
    let name = shared.name
    guard let bundle = try? JSONDecoder().decode(PolicyBundle.self, from: Data(document.utf8)) else {
      throw PolicyError([PolicyProblem(source: name, message: "the queue's copy of it is incomplete")])
    }
    return try PolicyLibrary { wanted, from throws(PolicyError) in
      let parent = from.flatMap { Int($0) }
      guard let place = bundle.files.firstIndex(where: { $0.from == parent && $0.name == wanted }) else {
        throw PolicyError([
          PolicyProblem(source: name, message: "the queue does not hold \(wanted), which it extends")
        ])
      }
      return (Array(bundle.files[place].text.utf8), "\(place)")
    }.policy(root)
  }
}
