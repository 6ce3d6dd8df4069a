/// Files that are not regular, and links.
struct SpecialFiles {
  let isSuperuser: Bool

  var files: [HostileFile] {
    var files = [
      HostileFile("special", "pipe.mp4", .pipe, ["notRegular"]),
      HostileFile("special", "socket.mp4", .socket, ["notRegular"]),
      HostileFile("special", "folder.mp4", .folder, []),
      HostileFile("special", "empty.mp4", .bytes([]), ["empty"]),
    ]
    files += Self.links.map { HostileFile("special", $0.0 + ".mp4", .link($0.1), ["isLink"]) }
    if isSuperuser {
      files += [("zero", 5), ("random", 8), ("full", 7)].map {
        HostileFile("special", "\($0.0)-device.mp4", .device(major: 1, minor: $0.1), ["notRegular"])
      }
    }
    return files
  }

  private static let links = [
    ("to-zero", "/dev/zero"), ("to-itself", "to-itself.mp4"), ("loop-a", "loop-b.mp4"),
    ("loop-b", "loop-a.mp4"),
    ("dangling", "nothing"), ("to-pipe", "pipe.mp4"), ("to-stdin", "/proc/self/fd/0"), ("to-parent", ".."),
    ("to-root", "/"), ("to-empty", "empty.mp4"), ("to-passwords", "/etc/passwd"),
  ]
}
