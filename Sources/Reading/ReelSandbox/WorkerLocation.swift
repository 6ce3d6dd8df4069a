import Glibc
import ReelCore

/// The location of `reel-probe-worker`. `PATH` is never searched.
public enum WorkerLocation: Hashable, Sendable {
  /// At this path.
  case path(String)
  /// Beside this program's real executable, otherwise in `../libexec/reel/` relative to it.
  case installed

  /// The program's file name.
  static let name = "reel-probe-worker"

  /// Returns the path of the worker.
  /// - Throws: `workerMissing`, naming the commands that build and install it.
  func resolve() throws(ProbeError) -> String {
    switch self {
    case .path(let path):
      guard Self.isProgram(path) else {
        throw access(path, F_OK) == 0 ? Self.notExecutable(path) : Self.missing(at: [path])
      }
      return path
    case .installed:
      guard let executable = Self.ownExecutable() else {
        throw ProbeError(
          .workerMissing,
          "the program that reads media, \(Self.name), is looked for beside Reel, but Reel's own location is unknown: "
            + "mount /proc, move Reel to a folder whose path is UTF-8, or name the program with \(setting: .worker)"
        )
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

  private static func notExecutable(_ path: String) -> ProbeError {
    ProbeError(
      .workerMissing,
      "\(path), where \(name) should be, is not a program that this user may run; check its mode, or \(remedy)"
    )
  }

  /// What to do about a worker that is missing or of another version.
  static let remedy =
    "build it with `swift build --product \(name)` (scripts/reel does), or install it with scripts/install"

  /// Explains why an existing program could not be started.
  static func notStarted(_ path: String, _ error: SystemError) -> ProbeError {
    let null = "/dev/null"
    guard access(null, R_OK | W_OK) == 0 else {
      return ProbeError(
        .workerBroken,
        "the program that reads media, \(name), can't be started: it is given \(null), which can't be opened "
          + "(\(SystemError.last("access").reason)); give this system, or this container, its /dev")
    }
    return ProbeError(
      .workerBroken,
      "the program that reads media is at \(path), but can't be started (\(error.reason)); make sure that it was "
        + "built for this machine, that the libraries it needs are installed, and that its file system is not mounted noexec"
    )
  }

  static func isProgram(_ path: String) -> Bool {
    var facts = stat()
    guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return false }
    return access(path, X_OK) == 0
  }

  /// Nil if there is no `/proc`, or if the path is not UTF-8.
  private static func ownExecutable() -> String? {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &path, path.count)
    guard count > 0 else { return nil }
    return String(validating: path.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
