import Foundation

/// All changes to the files of a folder, in order, as recorded by `Tests/SystemShim/shim.c`: a line for each, some
/// followed by bytes.
struct DiskRecord {
  enum Step {
    /// A process begins: no descriptor is open.
    case process
    case open(descriptor: Int, created: Bool, truncated: Bool, path: String)
    case close(descriptor: Int)
    case write(descriptor: Int, offset: Int, bytes: Data)
    case truncate(descriptor: Int, size: Int)
    case sync(descriptor: Int)
    /// The data concerned may be lost, whatever a later sync says.
    case failedSync(descriptor: Int)
    case syncAll
    case rename(String, to: String)
    case link(String, to: String)
    case unlink(String)
    case makeFolder(String)
    case removeFolder(String)
    /// Bytes written to standard output.
    case tell(Data)
  }
  var steps: [Step] = []

  struct Unreadable: Error {
    let line: String
  }

  /// An empty record.
  init() {}

  init(_ file: URL) throws {
    let bytes = try Data(contentsOf: file)
    var rest = bytes[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let line = String(decoding: rest[..<end], as: UTF8.self)
      rest = rest[(end + 1)...]
      steps.append(try Self.step(line, &rest))
    }
  }

  /// Removes the syncs of matching paths, as if the process had not made them.
  /// - Parameter first: Syncs before this step are kept.
  mutating func forgetSyncs(after first: Int = 0, _ isForgotten: (String) -> Bool) {
    var paths: [Int: String] = [:]
    steps = steps.enumerated().filter { number, step in
      switch step {
      case .open(let descriptor, _, _, let path): paths[descriptor] = path
      case .sync(let descriptor):
        return number < first || !(paths[descriptor].map(isForgotten) ?? false)
      default: break
      }
      return true
    }.map(\.element)
  }

  private static func step(_ line: String, _ rest: inout Data) throws -> Step {
    let argument = String(line.dropFirst(2))
    let words = argument.split(separator: " ", maxSplits: 3).map(String.init)
    func number(_ index: Int) throws -> Int {
      guard words.indices.contains(index), let number = Int(words[index]) else {
        throw Unreadable(line: line)
      }
      return number
    }
    func bytes(_ count: Int) -> Data {
      defer { rest = rest.dropFirst(count) }
      return Data(rest.prefix(count))
    }
    let names = argument.split(separator: "\t").map(String.init)
    switch line.first {
    case "B": return .process
    case "O":
      guard words.count == 4 else { throw Unreadable(line: line) }
      return .open(
        descriptor: try number(0), created: try number(1) == 1, truncated: try number(2) == 1, path: words[3])
    case "C": return .close(descriptor: try number(0))
    case "W":
      return .write(descriptor: try number(0), offset: try number(1), bytes: bytes(try number(2)))
    case "T": return .truncate(descriptor: try number(0), size: try number(1))
    case "S": return .sync(descriptor: try number(0))
    case "F": return .failedSync(descriptor: try number(0))
    case "Y": return .syncAll
    case "P": return .tell(bytes(try number(0)))
    case "R" where names.count == 2: return .rename(names[0], to: names[1])
    case "L" where names.count == 2: return .link(names[0], to: names[1])
    case "U": return .unlink(argument)
    case "M": return .makeFolder(argument)
    case "D": return .removeFolder(argument)
    default: throw Unreadable(line: line)
    }
  }
}
