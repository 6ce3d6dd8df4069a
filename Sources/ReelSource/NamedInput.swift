import Glibc
import ReelCore

/// A file of settings or names that the user points Reel to. It is the user's own, so links and pipes are
/// fine, as in `--files0-from <(find … -print0)`.
enum NamedInput {
  /// The whole content. Blocks, for as long as a pipe's other end takes.
  /// - Throws: `sidecarInvalid` when there are more bytes than `limit`; `notFound` and the like.
  static func read(_ path: SourcePath, upTo limit: Int) throws(SourceError) -> [UInt8] {
    let name = try PathBytes(path.bytes)
    do {
      let opened = try retryingInterrupts("open") { open(name.characters, O_RDONLY | O_CLOEXEC | O_NOCTTY) }
      return try read(Descriptor(adopting: opened), upTo: limit)
    } catch let error as SystemError {
      throw SourceError(error)
    } catch {
      throw SourceError(.sidecarInvalid, "it is larger than \(limit >> 20) MB; split it")
    }
  }

  /// Standard input, to its end. Blocks.
  static func readStandardInput(upTo limit: Int) throws(SourceError) -> [UInt8] {
    do {
      let own = try retryingInterrupts("fcntl") { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) }
      return try read(Descriptor(adopting: own), upTo: limit)
    } catch let error as SystemError {
      throw SourceError(error)
    } catch {
      throw SourceError(.sidecarInvalid, "it is larger than \(limit >> 20) MB; split it")
    }
  }

  private struct TooLarge: Error {}

  /// Bytes of a file; 0 of what has no size.
  private static func size(_ number: Int32) throws(SystemError) -> Int {
    var facts = stat()
    _ = try retryingInterrupts("fstat") { fstat(number, &facts) }
    return Int(facts.st_size)
  }

  private static func read(_ descriptor: Descriptor, upTo limit: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(min(limit, try descriptor.holding(size)))
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = try descriptor.holding { number throws(SystemError) in
        try retryingInterrupts("read") { Glibc.read(number, &chunk, chunk.count) }
      }
      if count == 0 { return bytes }
      guard bytes.count + count <= limit else { throw TooLarge() }
      bytes.append(contentsOf: chunk[..<count])
    }
  }
}
