import Glibc

/// Names the running kernel: on the same one, a kernel lock tells who is alive.
enum HostIdentity {
  /// The boot's id and the machine's. Two containers under one kernel that share a library may differ in the
  /// latter: then the lease decides, as between machines.
  static func current() -> String {
    line(of: "/proc/sys/kernel/random/boot_id") + " " + line(of: "/etc/machine-id")
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
