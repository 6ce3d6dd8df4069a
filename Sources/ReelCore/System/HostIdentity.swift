import Glibc

/// Names the running kernel: on the same one, a kernel lock tells who is alive.
package enum HostIdentity {
  /// The boot's id and the machine's. Containers under one kernel may differ in the latter, machines that are copies of
  /// one another share it.
  package static func current() -> String {
    line(of: "/proc/sys/kernel/random/boot_id") + " " + line(of: "/etc/machine-id")
  }

  /// Whether both name the same kernel for certain.
  package static func isOneKernel(_ one: String, _ other: String) -> Bool {
    guard let boot = one.split(separator: " ", omittingEmptySubsequences: false).first, !boot.isEmpty else {
      return false
    }
    return boot == other.split(separator: " ", omittingEmptySubsequences: false).first
  }

  /// Whether `host` names another boot of the machine that `current` names, or of a copy of it: whether that one has
  /// ended, the ids alone do not tell.
  package static func isAnotherBoot(_ host: String, of current: String) -> Bool {
    let (then, now) = (parts(of: host), parts(of: current))
    guard let then, let now else { return false }
    return then.machine == now.machine && then.boot != now.boot
  }

  /// Nil when one of both is unknown.
  private static func parts(of host: String) -> (boot: Substring, machine: Substring)? {
    let parts = host.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
    return (parts[0], parts[1])
  }

  /// The first line of a small file, or nothing when it can't be read.
  private static func line(of path: String) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 128)
    let count = read(file, &buffer, buffer.count)
    guard count > 0 else { return "" }
    return String(decoding: buffer[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }
}
