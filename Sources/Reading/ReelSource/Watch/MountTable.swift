import Glibc
import ReelCore

/// The mounts below a folder: nothing else reports that a file system was mounted or unmounted in a watched folder.
package final class MountTable: Sendable {
  private let file: Descriptor

  /// Returns nil if there is no `/proc`.
  package init?() {
    let number = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    file = Descriptor(adopting: number)
  }

  /// Whether anything was mounted or unmounted since the last call, or since this was created (proc_pid_mounts(5)).
  func hasChanged() -> Bool {
    file.holding { number in
      var request = pollfd(fd: number, events: Int16(POLLPRI), revents: 0)
      return poll(&request, 1, 0) > 0
    }
  }

  /// Returns the mounts below `folder`: paths relative to it, each with what tells one mount from another. Blocks.
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
      // Of several mounts in one place the last is visible, and its line comes last.
      mounts[Array(place.dropFirst(folder.count))] = Array(line)
    }
    return mounts
  }

  /// Decodes octal escapes: a space is `\040`.
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
