import Foundation
import ReelCore
import Testing

struct ProcessorsTests {
  @Test(
    "the least quota of the control group and of those above it counts, rounded up",
    arguments: [
      (["": "max 100000", "a": "400000 100000", "a/b": "max 100000"], 4),
      (["a": "400000 100000", "a/b": "150000 100000"], 2),
      (["": "50000 100000", "a/b": "800000 100000"], 1),
      // A container sees its own group as the root, and may know itself by the path that the host has for it.
      (["": "300000 100000"], 3),
      (["": "max 100000"], nil),
      (["a/b": "0 0", "a": "-1 100000"], nil),
      (["a/b": "9223372036854775807 1"], Int.max),
      ([:], nil),
    ] as [([String: String], Int?)])
  func quota(files: [String: String], expected: Int?) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "reel-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    for (group, text) in files {
      let place = folder.appending(path: group)
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      try Data((text + "\n").utf8).write(to: place.appending(path: "cpu.max"))
    }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let membership = folder.appending(path: "membership")
    try Data("1:name=systemd:/x\n0::/a/b\n".utf8).write(to: membership)
    #expect(Processors.quota(membership: membership.path, hierarchy: folder.path) == expected)
  }

  @Test("without control groups of version 2 there is no quota")
  func none() throws {
    #expect(Processors.quota(membership: "/dev/null", hierarchy: "/nowhere") == nil)
    #expect(Processors.quota(membership: "/nowhere", hierarchy: "/nowhere") == nil)
    #expect(Processors.available >= 1)
  }
}
