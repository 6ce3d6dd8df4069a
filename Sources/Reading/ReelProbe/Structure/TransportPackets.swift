import ReelCore

/// The packets of an MPEG transport stream (ISO/IEC 13818-1, 2.4.3).
enum TransportPackets {
  /// The positions of the packets in a stretch, one after the other. They are found again where bytes are missing or
  /// superfluous.
  struct Places: Sequence, IteratorProtocol {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let stride: Int
    private var place: Int?

    /// - Parameter stride: the number of bytes from one packet to the next.
    init(_ bytes: UnsafeBufferPointer<UInt8>, stride: Int) {
      (self.bytes, self.stride) = (bytes, stride)
      let first = (0..<Swift.min(stride, bytes.count)).first { start in
        (0..<4).allSatisfy { isSync(at: start + $0 * stride, orBeyond: true) }
      }
      place = first ?? placeInStep(from: 0)
    }

    mutating func next() -> Int? {
      if let lost = place, lost < bytes.count, !isSync(at: lost) {
        // A single byte is damaged if the packets behind it are in step.
        let isOne = (1...2).allSatisfy { isSync(at: lost + $0 * stride, orBeyond: true) }
        place = isOne ? lost + stride : placeInStep(from: lost)
      }
      guard let found = place, found + TransportPackets.length <= bytes.count else { return nil }
      place = found + stride
      return found
    }

    /// Returns the first of four packets in step.
    private func placeInStep(from start: Int) -> Int? {
      (start..<Swift.max(start, bytes.count - 3 * stride)).first { start in
        (0..<4).allSatisfy { isSync(at: start + $0 * stride) }
      }
    }

    private func isSync(at place: Int, orBeyond: Bool = false) -> Bool {
      place < bytes.count ? bytes[place] == 0x47 : orBeyond
    }
  }

  /// The number of bytes in a packet, without what stands before or behind it.
  static let length = 188
  private static let corrected = 204

  /// Returns the number of bytes from one packet to the next: four bytes of time may precede each, or sixteen of
  /// error correction may follow it. Nil for anything but a transport stream.
  static func stride(_ file: some ByteReading, _ container: MediaContainer) -> Int? {
    if container == .m2ts { return 192 }
    guard container == .mpegTS else { return nil }
    let head = file.bytes(at: 0, count: 64 << 10)
    return head.withUnsafeBufferPointer { bytes in
      func count(_ stride: Int) -> Int { Places(bytes, stride: stride).reduce(0) { count, _ in count + 1 } }
      return count(corrected) > count(length) ? corrected : length
    }
  }

  /// Whether the packets of each stream are counted without a break (2.4.3.3), and none is damaged or declares a
  /// discontinuity (2.4.3.5).
  static func areCountedOn(_ bytes: UnsafeBufferPointer<UInt8>, stride: Int) -> Bool {
    var counts: [Int: UInt8] = [:]
    for place in Places(bytes, stride: stride) {
      let (id, control) = (Int(bytes[place + 1] & 0x1f) << 8 | Int(bytes[place + 2]), bytes[place + 3])
      guard id != 0x1fff else { continue }
      let isApart = control & 0x20 != 0 && bytes[place + 4] > 0 && bytes[place + 5] & 0x80 != 0
      guard bytes[place + 1] & 0x80 == 0, !isApart else { return false }
      let count = control & 0x0f
      // Packets without a payload do not count, and one may come twice.
      if let last = counts[id], count != last, control & 0x10 == 0 || count != (last + 1) & 0x0f {
        return false
      }
      counts[id] = count
    }
    return true
  }

  /// What is scrambled in the first stretch of a file.
  struct Scrambling {
    /// The scrambled streams, by their identifiers.
    let streams: Set<Int>
    /// Whether packets of pictures or sound of other streams are in the clear.
    let leavesClear: Bool
  }

  /// Returns nil if there are no packets.
  static func scrambling(_ file: some ByteReading, _ container: MediaContainer) -> Scrambling? {
    guard let stride = Self.stride(file, container) else { return nil }
    let head = file.bytes(at: 0, count: stride * 2048)
    return head.withUnsafeBufferPointer { bytes in
      var (scrambled, clear, begun): ([Int: Int], Set<Int>, Set<Int>) = ([:], [], [])
      for place in Places(bytes, stride: stride) {
        let id = Int(bytes[place + 1] & 0x1f) << 8 | Int(bytes[place + 2])
        // A packet that was received with errors is no evidence, and fillers contain nothing.
        guard bytes[place + 1] & 0x80 == 0, id != 0x1fff, bytes[place + 3] & 0x10 != 0 else { continue }
        if bytes[place + 3] >> 6 > 1 {
          scrambled[id, default: 0] += 1
        } else {
          clear.insert(id)
          if beginsPicturesOrSound(bytes, place) { begun.insert(id) }
        }
      }
      guard !clear.isEmpty || !scrambled.isEmpty else { return nil }
      // One or two scrambled packets among others in the clear are damaged.
      let streams = Set(scrambled.filter { $1 > 2 || !clear.contains($0) }.keys)
      return Scrambling(streams: streams, leavesClear: !begun.isSubset(of: streams))
    }
  }

  /// Whether a packet of an elementary stream of pictures or sound begins in it (2.4.3.6).
  private static func beginsPicturesOrSound(_ bytes: UnsafeBufferPointer<UInt8>, _ place: Int) -> Bool {
    let start = place + 4 + (bytes[place + 3] & 0x20 != 0 ? Int(bytes[place + 4]) + 1 : 0)
    guard bytes[place + 1] & 0x40 != 0, start + 4 <= place + length, bytes[start] == 0, bytes[start + 1] == 0,
      bytes[start + 2] == 1
    else { return false }
    return bytes[start + 3] == 0xbd || bytes[start + 3] == 0xfd || (0xc0...0xef).contains(bytes[start + 3])
  }
}
