import CDigest
import COpenSSL
import Dispatch
import Synchronization

extension Insecure.MD5 {
  /// Does the same as ``update(bufferPointer:)``, but together with other callers in this process: up to four take
  /// as long as one. Blocks until these bytes are hashed.
  package mutating func updateWithOthers(bufferPointer bytes: UnsafeRawBufferPointer) {
    let blocks = context.num == 0 ? bytes.count / Self.blockSize : 0
    guard blocks > 0, let start = bytes.baseAddress else { return update(bufferPointer: bytes) }
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 4) { state in
      guard let words = state.baseAddress else { return }
      _ = state.initialize(from: [context.A, context.B, context.C, context.D])
      MD5Lanes.shared.take(start, blocks, into: words)
      (context.A, context.B, context.C, context.D) = (words[0], words[1], words[2], words[3])
    }
    // The length in bits, in two words.
    let taken = blocks * Self.blockSize
    let bits = (UInt64(context.Nh) << 32 | UInt64(context.Nl)) &+ UInt64(taken) &* 8
    (context.Nl, context.Nh) = (UInt32(truncatingIfNeeded: bits), UInt32(truncatingIfNeeded: bits >> 32))
    update(bufferPointer: UnsafeRawBufferPointer(rebasing: bytes[taken...]))
  }
}

/// Hashes blocks for several MD5s side by side. The first caller works for all that arrive meanwhile, until its own
/// bytes are hashed; then the next one takes over.
private final class MD5Lanes: Sendable {
  static let shared = MD5Lanes()

  private static let width = 4
  /// How many blocks are hashed before checking for new callers.
  private static let slice = 256

  private struct Line {
    var waiting: [Work] = []
    var isLed = false
  }
  private let line = Mutex(Line())

  /// Bytes that a caller waits for. Sendable: only the leading thread touches it, and its owner after being woken.
  private final class Work: @unchecked Sendable {
    let state: UnsafeMutablePointer<UInt32>
    private(set) var next: UnsafePointer<UInt8>
    private(set) var blocks: Int
    let woken = DispatchSemaphore(value: 0)

    init(_ start: UnsafeRawPointer, _ blocks: Int, into state: UnsafeMutablePointer<UInt32>) {
      (self.state, next, self.blocks) = (state, start.assumingMemoryBound(to: UInt8.self), blocks)
    }

    func move(_ count: Int) {
      next += count * Insecure.MD5.blockSize
      blocks -= count
    }

    func takeAlone(_ count: Int) {
      var context = MD5_CTX()
      (context.A, context.B, context.C, context.D) = (state[0], state[1], state[2], state[3])
      MD5_Update(&context, next, count * Insecure.MD5.blockSize)
      (state[0], state[1], state[2], state[3]) = (context.A, context.B, context.C, context.D)
    }
  }

  func take(_ start: UnsafeRawPointer, _ blocks: Int, into state: UnsafeMutablePointer<UInt32>) {
    let work = Work(start, blocks, into: state)
    let leads = line.withLock { line in
      line.waiting.append(work)
      defer { line.isLed = true }
      return !line.isLed
    }
    if !leads { work.woken.wait() }
    // Woken with bytes left: the previous leader has finished, and this thread leads now.
    if work.blocks > 0 { lead(until: work) }
  }

  private func lead(until own: Work) {
    var group: [Work] = []
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 4 * Self.width) { spare in
      spare.initialize(repeating: 0)
      while own.blocks > 0 {
        line.withLock { line in
          let more = line.waiting.prefix(Self.width - group.count)
          group += more
          line.waiting.removeFirst(more.count)
        }
        Self.take(group, spare)
        for work in group where work.blocks == 0 && work !== own { work.woken.signal() }
        group.removeAll { $0.blocks == 0 }
      }
    }
    let next = line.withLock { line in
      line.waiting = group + line.waiting
      line.isLed = !line.waiting.isEmpty
      return line.waiting.first
    }
    next?.woken.signal()
  }

  /// - Parameter spare: States for unused lanes, which are fed with another caller's bytes.
  private static func take(_ group: [Work], _ spare: UnsafeMutableBufferPointer<UInt32>) {
    let count = group.reduce(slice) { min($0, $1.blocks) }
    if group.count == 1 {
      group[0].takeAlone(count)
    } else {
      let idle = stride(from: 0, to: 4 * (width - group.count), by: 4)
      reel_md5_four(
        group.map(\.state) + idle.compactMap { spare.baseAddress?.advanced(by: $0) },
        group.map(\.next) + idle.map { _ in group[0].next }, count)
    }
    for work in group { work.move(count) }
  }
}
