import Foundation
import Glibc

/// A user who is not root, and owns nothing here.
enum OtherUser {
  static let id: uid_t = 65534

  static let launcher = launcher(of: id)

  /// What a program is started with to run as the user `id`.
  static func launcher(of id: uid_t) -> [String] {
    ["/usr/bin/setpriv", "--reuid=\(id)", "--regid=\(id)", "--clear-groups"]
  }

  /// Whether these tests may start programs as somebody else, who may run the programs that were built.
  static let mayRunReel: Bool = {
    guard geteuid() == 0, let setpriv = launcher.first else { return false }
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

  static let isNeeded: String = "it takes root, and a checkout that other users can reach"
}
