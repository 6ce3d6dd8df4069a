import Glibc

/// An address of IPv4 or IPv6.
package struct IPAddress: Hashable, Sendable {
  /// 4 of IPv4, 16 of IPv6, in network order.
  private let bytes: [UInt8]

  /// Reads a numeric address, such as "192.0.2.1" or "fe80::1%eth0"; nil for anything else.
  package init?(_ text: some StringProtocol) {
    let number = String(text.prefix { $0 != "%" })
    for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = [UInt8](repeating: 0, count: count)
      if bytes.withUnsafeMutableBytes({ inet_pton(family, number, $0.baseAddress) }) == 1 {
        self.bytes = bytes
        return
      }
    }
    return nil
  }

  /// Takes the address out of a `sockaddr`; nil if it is of another family.
  package init?(socketAddress: UnsafeRawBufferPointer) {
    guard socketAddress.count >= MemoryLayout<sa_family_t>.size else { return nil }
    switch Int32(socketAddress.loadUnaligned(as: sa_family_t.self)) {
    case AF_INET where socketAddress.count >= 8: bytes = Array(socketAddress[4..<8])
    case AF_INET6 where socketAddress.count >= 24: bytes = Array(socketAddress[8..<24])
    default: return nil
    }
  }

  /// Whether the address is globally reachable by the registries of IANA (RFC 6890).
  package var isPublic: Bool {
    guard bytes.count == 16 else { return Self.isPublic(bytes[...]) }
    // IPv4 addresses inside IPv6: compatible, mapped, translated (RFC 6052), 6to4.
    if bytes.prefix(10).allSatisfy({ $0 == 0 }) {
      return bytes[10] == 0xFF && bytes[11] == 0xFF && Self.isPublic(bytes[12...])
    }
    if bytes.starts(with: [0, 0x64, 0xFF, 0x9B]) {
      // Apart from the one public prefix, each network uses its own (RFC 8215).
      return bytes[4..<12].allSatisfy { $0 == 0 } && Self.isPublic(bytes[12...])
    }
    if bytes.starts(with: [0x20, 0x02]) { return Self.isPublic(bytes[2..<6]) }
    // Public addresses are in 2000::/3, but not in 2001::/23 (protocols, Teredo among them), 2001:db8::/32 and
    // 3fff::/20 (documentation).
    if bytes[0] == 0x20, bytes[1] == 0x01, bytes[2] < 2 || bytes[2...3].elementsEqual([0x0D, 0xB8]) {
      return false
    }
    if bytes[0] == 0x3F, bytes[1] == 0xFF, bytes[2] < 0x10 { return false }
    return bytes[0] & 0xE0 == 0x20
  }

  private static func isPublic(_ four: ArraySlice<UInt8>) -> Bool {
    let four = Array(four)
    return switch (four[0], four[1], four[2]) {
    case (0, _, _), (10, _, _), (127, _, _), (169, 254, _), (172, 16...31, _), (192, 168, _): false
    case (100, 64...127, _), (198, 18...19, _), (192, 0, 0): false
    case (192, 0, 2), (198, 51, 100), (203, 0, 113): false
    case (224..., _, _): false
    default: true
    }
  }
}
