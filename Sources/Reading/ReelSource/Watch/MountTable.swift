import Glibc
import ReelCore

/// What is mounted below a folder: nothing else tells of a file system that is mounted in a folder that is watched, or is no
/// more.
package final class MountTable: Sendable {
  private let file: Descriptor

  /// Nil where there is no `/proc`.
  package init?() {
    let number = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    file = Descriptor(adopting: number)
  }

  /// Whether anything was mounted or unmounted since the last call, or since the beginning (proc_pid_mounts(5)).
  func hasChanged() -> Bool {
    file.holding { number in
      var request = pollfd(fd: number, events: Int16(POLLPRI), revents: 0)
      return poll(&request, 1, 0) > 0
    }
  }

  /// What is mounted below `folder`: paths from there, each with what tells one mount from another. Blocks.
  func mounts(below folder: DirectoryHandle) -> [[UInt8]: [UInt8]] {
    guard let root = folder.descriptor.realPath else { return [:] }
    let bytes = file.holding { number -> [UInt8]? in
      guard lseek(number, 0, SEEK_SET) == 0 else { return nil }
      return try? file.readToEnd(limit: 16 << 20)
    }
    return bytes.map { Self.mounts(in: $0, below: root) } ?? [:]
  }

  /// - Parameter table: lines as in proc_pid_mountinfo(5).
  static func mounts(in table: [UInt8], below root: [UInt8]) -> [[UInt8]: [UInt8]] {
    let folder = root.last == UInt8(ascii: "/") ? root : root + [UInt8(ascii: "/")]
    var mounts: [[UInt8]: [UInt8]] = [:]
    for line in table.split(separator: UInt8(ascii: "\n")) {
      let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
      guard fields.count == 6, case let place = unescaped(fields[4]), place.starts(with: folder),
        place.count > folder.count
      else { continue }
      // The one that was mounted last is that which is seen: its line comes behind.
      mounts[Array(place.dropFirst(folder.count))] = Array(line)
    }
    return mounts
  }

  /// Spaces and the like are `\040`.
  private static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
    var (text, rest) = ([UInt8](), field)
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      guard byte == UInt8(ascii: "\\"), digits.count == 3, digits.allSatisfy({ (0x30...0x37).contains($0) })
      else {
        text.append(byte)
        continue
      }
      text.append(UInt8(truncatingIfNeeded: digits.reduce(0) { $0 << 3 | Int($1 - 0x30) }))
      rest = rest.dropFirst(3)
    }
    return text
  }
}
