import Foundation
import Glibc

/// A user who is not root and owns nothing here.
enum OtherUser {
  static let id: uid_t = 65534

  static let isRoot = geteuid() == 0

  static let launcher = launcher(of: id)

  /// The command that runs a program as the user `id`.
  static func launcher(of id: uid_t) -> [String] {
    ["/usr/bin/setpriv", "--reuid=\(id)", "--regid=\(id)", "--clear-groups"]
  }

  /// Whether these tests may start programs as another user, who may execute the built programs.
  static let mayRunReel: Bool = {
    guard isRoot, let setpriv = launcher.first else { return false }
    return [ReelBinary.url, ReelBinary.folder.appendingPathComponent("reel-probe-worker")].allSatisfy {
      program in
      let process = Process()
      process.executableURL = URL(fileURLWithPath: setpriv)
      process.arguments = launcher.dropFirst() + ["test", "-x", program.path]
      process.standardError = FileHandle.nullDevice
      guard (try? process.run()) != nil else { return false }
      process.waitUntilExit()
      return process.terminationStatus == 0
    }
  }()
}
