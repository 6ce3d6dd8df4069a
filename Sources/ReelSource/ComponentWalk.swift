import CReel
import Glibc
import ReelCore

/// Opens a path a component at a time: for kernels without `openat2`, and for paths longer than one call
/// takes.
enum ComponentWalk {
  static func open(
    _ path: [UInt8], from directory: Descriptor?, links: LinkRule
  ) throws(SourceError) -> Descriptor {
    let slash = UInt8(ascii: "/")
    var components = path.split(separator: slash).map(Array.init)
    if path.last == slash || components.isEmpty { components.append([UInt8(ascii: ".")]) }
    let start = path.first == slash ? try step([slash], from: nil, followsLink: false) : directory
    var current = start
    for component in components {
      current = try step(component, from: current, followsLink: links != .refuse)
    }
    guard let current else { throw .emptyName }
    if links == .followBeneath, let directory { try check(current, isBeneath: directory) }
    return current
  }

  /// A link that is not followed ends the walk: what comes after it finds that it is not a directory.
  private static func step(
    _ component: [UInt8], from directory: Descriptor?, followsLink: Bool
  ) throws(SourceError) -> Descriptor {
    if let directory, try FileStatus(of: directory).kind == .link { throw .isLink }
    let name = try PathBytes(component)
    let flags = reel_o_path | O_CLOEXEC | (followsLink ? 0 : O_NOFOLLOW)
    do {
      return try withExtendedLifetime(directory) { () throws(SystemError) -> Descriptor in
        let start = directory?.rawValue ?? AT_FDCWD
        return Descriptor(
          adopting: try retryingInterrupts("openat") { openat(start, name.characters, flags) })
      }
    } catch {
      throw SourceError(error)
    }
  }

  /// Compares where both really are. Nothing has been opened yet, so there is no race to lose: a file that is
  /// moved out afterwards was inside when it was found.
  private static func check(_ found: Descriptor, isBeneath directory: Descriptor) throws(SourceError) {
    guard let root = realPath(directory), let path = realPath(found) else {
      throw SourceError(
        .outsideRoot, "Reel can't tell where this link leads without /proc; name the file itself")
    }
    let prefix = root.last == UInt8(ascii: "/") ? root : root + [UInt8(ascii: "/")]
    guard path == root || path.starts(with: prefix) else {
      throw SourceError(SystemError(code: EXDEV, call: "openat"))
    }
  }

  private static func realPath(_ descriptor: Descriptor) -> [UInt8]? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let length = descriptor.holding { readlink("/proc/self/fd/\($0)", &buffer, buffer.count) }
    guard length > 0, length < buffer.count else { return nil }
    return buffer.prefix(length).map { UInt8(bitPattern: $0) }
  }
}
