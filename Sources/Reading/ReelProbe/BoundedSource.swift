import Glibc

/// Where the bytes of a file come from.
package enum FileBytes {
  /// An open file; it is read by position, neither moved nor closed.
  case descriptor(Int32)
  /// A function that copies bytes from the given offset into the buffer. Its last argument is the number of bytes
  /// expected to be read from that offset on. It returns the number copied, 0 at the end of the file, or nil if the
  /// bytes are unavailable. The time spent in it does not count against the deadline.
  case asking((UnsafeMutableRawBufferPointer, Int64, Int) -> Int?)
}

/// A file read by position, within a budget of bytes and of time.
///
/// A class because FFmpeg's C callbacks hold it by address; used by one thread only.
package final class BoundedSource: ByteReading {
  /// Why no more bytes are given.
  package enum Stop: Hashable {
    case deadline
    case budget
    /// The file is shorter than stated.
    case shrunk
    /// `pread` failed with this `errno`.
    case failed(Int32)
    /// The function of `FileBytes.asking` gives no more bytes.
    case withheld
  }

  /// The file's size in bytes, as stated by the caller.
  package let size: Int64
  /// Where FFmpeg's next read begins.
  var position: Int64 = 0
  /// Why reading has stopped; nil as long as it continues.
  package private(set) var stop: Stop?
  private(set) var bytesRead: Int64 = 0
  /// The number of bytes that may still be read before the file appears to end; nil for no such limit.
  var allowance: Int64?
  /// The range that will most likely be read completely.
  private var expected: Range<Int64>?
  private let file: FileBytes
  private let budget: Int64
  private var deadline: UInt64
  private var halfTime: UInt64

  package init(_ file: FileBytes, size: Int64, limits: ReadingLimits) {
    self.file = file
    self.size = size
    budget = limits.bytes
    let (start, nanoseconds) = (Self.now(), UInt64(max(0, min(limits.seconds, 1e9)) * 1e9))
    deadline = start &+ nanoseconds
    halfTime = start &+ nanoseconds / 2
  }

  /// Whether half of the time limit has passed.
  var isPastHalfTime: Bool { Self.now() >= halfTime }

  /// The seconds left of the time limit; negative after the deadline.
  var secondsLeft: Double { Double(deadline) / 1e9 - Double(Self.now()) / 1e9 }

  /// Returns whether the deadline has passed. If so, and nothing else has stopped the reading, records it as the
  /// reason.
  package func isOverdue() -> Bool {
    guard Self.now() >= deadline else { return false }
    if stop == nil { stop = .deadline }
    return true
  }

  /// Fills `buffer` from `offset` on. Returns the number of bytes read, 0 at the end, or nil if reading has stopped.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
    guard stop == nil, !isOverdue() else { return nil }
    guard offset >= 0, offset < size else { return 0 }
    if let allowance, allowance <= 0 { return 0 }
    guard bytesRead < budget else { return halt(.budget) }
    let wanted = Int(min(Int64(buffer.count), size - offset, budget - bytesRead))
    let count: Int
    switch file {
    case .descriptor(let descriptor):
      count = Self.uninterrupted(descriptor, buffer, wanted, offset)
      if count < 0 { return halt(.failed(errno)) }
    case .asking(let ask):
      guard let given = asked(ask, buffer, wanted, offset) else { return halt(.withheld) }
      count = given
    }
    if count == 0, wanted > 0 { return halt(.shrunk) }
    bytesRead += Int64(count)
    allowance = allowance.map { $0 - Int64(count) }
    return count
  }

  package func bytes(at offset: Int64, count: Int) -> [UInt8] {
    guard count > 0, offset >= 0 else { return [] }
    if !holds(offset, count) { fillAhead(from: offset, count: max(count, Self.readAhead)) }
    let start = Int(offset - aheadStart)
    guard start >= 0, start < ahead.count else { return [] }
    return Array(ahead[start..<min(ahead.count, start + count)])
  }

  package var isFar: Bool {
    if case .asking = file { return true }
    return false
  }

  package var isHalfSpent: Bool { stop != nil || bytesRead > budget / 2 || isPastHalfTime }

  package func willRead(_ range: Range<Int64>) { expected = range.clamped(to: 0..<size) }

  /// The fewest bytes to read at a time: structures are read in small steps that lie close together.
  private static let readAhead = 1024
  private var ahead: [UInt8] = []
  private var aheadStart: Int64 = 0

  private func holds(_ offset: Int64, _ count: Int) -> Bool {
    offset >= aheadStart && offset - aheadStart <= Int64(ahead.count - count)
  }

  private func fillAhead(from offset: Int64, count: Int) {
    aheadStart = offset
    ahead = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
        guard let got = read(into: rest, at: offset + Int64(filled)), got > 0 else { return }
        filled += got
      }
    }
  }

  private func asked(
    _ ask: (UnsafeMutableRawBufferPointer, Int64, Int) -> Int?, _ buffer: UnsafeMutableRawBufferPointer,
    _ count: Int, _ offset: Int64
  ) -> Int? {
    let begin = Self.now()
    defer {
      let waited = Self.now() &- begin
      deadline &+= waited
      halfTime &+= waited
    }
    var whole = count
    if let expected, expected.contains(offset) {
      whole = max(whole, Int(clamping: expected.upperBound - offset))
    }
    return ask(UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count)), offset, whole)
  }

  private static func uninterrupted(
    _ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer, _ count: Int, _ offset: Int64
  ) -> Int {
    while true {
      let result = pread(descriptor, buffer.baseAddress, count, off_t(offset))
      if result >= 0 || errno != EINTR { return result }
    }
  }

  private func halt(_ reason: Stop) -> Int? {
    stop = reason
    return nil
  }

  private static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
