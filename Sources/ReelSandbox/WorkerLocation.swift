import Glibc
import ReelModel

/// Where `reel-probe-worker` is. It is never looked for in `PATH`.
public enum WorkerLocation: Hashable, Sendable {
  /// At this path.
  case path(String)
  /// Beside this program's real executable, else in `../libexec/reel/` from there.
  case installed

  /// The program's file name.
  static let name = "reel-probe-worker"

  /// The path of the worker.
  /// - Throws: `workerMissing`, naming the commands that build and install it.
  func resolve() throws(ProbeError) -> String {
    switch self {
    case .path(let path):
      guard Self.isProgram(path) else { throw Self.missing(at: [path]) }
      return path
    case .installed:
      guard let executable = Self.ownExecutable() else {
        throw ProbeError(
          .workerMissing,
          "the program that reads media, \(Self.name), lies beside this one, and where this one lies can't be told"
            + " without /proc; mount it")
      }
      return try Self.find(from: executable)
    }
  }

  /// Looks beside `executable` and in `../libexec/reel/`.
  static func find(from executable: String) throws(ProbeError) -> String {
    let folder = executable.lastIndex(of: "/").map { String(executable[..<$0]) } ?? "."
    let places = ["\(folder)/\(name)", "\(folder)/../libexec/reel/\(name)"]
    for place in places where isProgram(place) { return place }
    throw missing(at: places)
  }

  static func missing(at places: [String]) -> ProbeError {
    ProbeError(
      .workerMissing,
      "the program that reads media, \(name), is not at \(places.joined(separator: " or ")); \(remedy)")
  }

  /// What to do about a worker that is missing or of another version.
  static let remedy =
    "build it with `swift build --product \(name)` (scripts/reel does), or install it with scripts/install"

  private static func isProgram(_ path: String) -> Bool {
    var facts = stat()
    guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return false }
    return access(path, X_OK) == 0
  }

  /// Nil without `/proc`.
  private static func ownExecutable() -> String? {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &path, path.count)
    guard count > 0 else { return nil }
    return String(decoding: path.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
