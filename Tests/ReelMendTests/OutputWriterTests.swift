import Foundation
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelMend

/// The output is as specified, whatever its parts, and holes remain holes.
@Suite(.shortTime) struct OutputWriterTests {
  /// Sizes around those of a batched write, a block, and a single write.
  private static let sizes: [Int64] = [
    0, 1, 17, 4095, 4096, 4097, 65_536, 256 << 10, (256 << 10) + 1, 1 << 20, (1 << 20) + 5, 3 << 20,
  ]

  private func open(_ path: String) throws -> Int32 {
    let file = Foundation.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    try #require(file >= 0)
    return file
  }

  @Test(arguments: 0..<8 as Range<UInt64>, [true, false])
  func everyPartIsWhereItBelongs(seed: UInt64, isDense: Bool) throws {
    var random = SplitMix64(seed: seed)
    let folder = try TemporaryFolder()
    var bytes = random.bytes(4 << 20)
    let (source, output) = (try open(folder.path(of: "source")), try open(folder.path(of: "output")))
    defer {
      close(source)
      close(output)
    }
    if isDense {
      try #require(pwrite(source, bytes, bytes.count, 0) == bytes.count)
    } else {
      // Every other piece is a hole.
      let size = 256 << 10
      for piece in 0..<16 {
        let range = piece * size..<(piece + 1) * size
        if piece % 2 == 1 { bytes.replaceSubrange(range, with: [UInt8](repeating: 0, count: size)) }
        guard piece % 2 == 0 else { continue }
        let count = bytes[range].withUnsafeBytes {
          pwrite(source, $0.baseAddress, $0.count, off_t(piece * size))
        }
        try #require(count == size)
      }
      try #require(ftruncate(source, 4 << 20) == 0)
    }
    var (file, expected): (MendedFile, [UInt8]) = (MendedFile(), [])
    for _ in 0..<Int.random(in: 1...14, using: &random) {
      let size = Self.sizes[Int.random(in: 0..<Self.sizes.count, using: &random)]
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        let own = random.bytes(Int(min(size, (1 << 20) + 5)))
        file.parts.append(.bytes(own))
        expected += own
      case 1:
        file.parts.append(.zeros(size))
        expected += [UInt8](repeating: 0, count: Int(size))
      default:
        let start = Int.random(in: 0...(bytes.count - Int(size)), using: &random)
        file.parts.append(.source(Int64(start)..<Int64(start) + size))
        expected += bytes[start..<start + Int(size)]
      }
    }
    var writer = OutputWriter(source: source, output: output)
    try writer.write(file)
    #expect(Data(contents(of: folder.path(of: "output"))) == Data(expected))
  }

  @Test func holesStayHoles() throws {
    let folder = try TemporaryFolder()
    let (source, output) = (try open(folder.path(of: "source")), try open(folder.path(of: "output")))
    defer {
      close(source)
      close(output)
    }
    try #require(pwrite(source, [1, 2, 3], 3, 0) == 3)
    try #require(ftruncate(source, 1 << 40) == 0)
    var file = MendedFile()
    for _ in 0..<1000 { file.parts += [.bytes([7, 7]), .source(0..<1 << 30), .zeros(1 << 30)] }
    var writer = OutputWriter(source: source, output: output)
    try writer.write(file)
    #expect(fileSize(folder.path(of: "output")) == file.size)
    var status = stat()
    #expect(fstat(output, &status) == 0 && status.st_blocks < 64 << 10)
  }

  @Test func aSourceThatBecameShorterIsTold() throws {
    let folder = try TemporaryFolder()
    let (source, output) = (try open(folder.path(of: "source")), try open(folder.path(of: "output")))
    defer {
      close(source)
      close(output)
    }
    try #require(pwrite(source, [1, 2, 3], 3, 0) == 3)
    for count in [4, 1 << 20] as [Int64] {
      let error = #expect(throws: MendError.self) {
        var writer = OutputWriter(source: source, output: output)
        try writer.write(MendedFile(parts: [.source(0..<count)]))
      }
      #expect(error?.code == .sourceChanged)
    }
  }
}
