import FoundationEssentials

/// The processors that this process may use.
package enum Processors {
  /// How many run at once, at least 1: those that its affinity and the quotas of its control groups leave it.
  package static let available = max(
    1, min(ProcessInfo.processInfo.activeProcessorCount, quota() ?? .max))

  /// The least quota of the process's control group (version 2) and of those above it, in whole processors; nil if
  /// there is none. `ProcessInfo` knows those of version 1 only.
  ///
  /// - SeeAlso: `cpu.max` in https://docs.kernel.org/admin-guide/cgroup-v2.html
  package static func quota(
    membership: String = "/proc/self/cgroup", hierarchy: String = "/sys/fs/cgroup"
  ) -> Int? {
    guard let lines = try? String(contentsOfFile: membership, encoding: .utf8),
      let group = lines.split(separator: "\n").first(where: { $0.hasPrefix("0::/") })?.dropFirst(4)
    else { return nil }
    var names = group.split(separator: "/")
    var least: Int?
    while true {
      let path = ([hierarchy] + names.map(String.init) + ["cpu.max"]).joined(separator: "/")
      if let limit = (try? String(contentsOfFile: path, encoding: .utf8)).flatMap(processors) {
        least = min(limit, least ?? .max)
      }
      if names.popLast() == nil { return least }
    }
  }

  /// Rounded up. Nil for `max`.
  private static func processors(_ quota: String) -> Int? {
    let numbers = quota.split { $0.isWhitespace }.compactMap { Int64($0) }
    guard numbers.count == 2, numbers[0] > 0, numbers[1] > 0 else { return nil }
    return Int(clamping: (numbers[0] - 1) / numbers[1] + 1)
  }
}
