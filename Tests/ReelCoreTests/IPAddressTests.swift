import Glibc
import ReelCore
import Testing

@Suite("IPv4 and IPv6 addresses")
struct IPAddressTests {
  @Test(
    "the public addresses are those that IANA's registries call globally reachable",
    arguments: [
      ("93.184.216.34", true), ("8.8.8.8", true), ("192.0.1.1", true), ("172.32.0.1", true),
      ("100.128.0.1", true),
      ("223.255.255.255", true), ("2606:2800:220:1:248:1893:25c8:1946", true), ("::ffff:8.8.8.8", true),
      ("64:ff9b::8.8.8.8", true), ("2002:808:808::1", true), ("2001:4860:4860::8888", true),
      ("3ffe::1", true),
      ("127.0.0.1", false), ("10.1.2.3", false), ("0.0.0.0", false), ("169.254.169.254", false),
      ("172.16.0.1", false), ("172.31.255.255", false), ("192.168.1.1", false), ("100.64.0.1", false),
      ("192.0.0.8", false), ("192.0.2.1", false), ("198.18.0.1", false), ("198.51.100.7", false),
      ("203.0.113.9", false), ("224.0.0.1", false), ("255.255.255.255", false), ("::", false), ("::1", false),
      ("::ffff:10.0.0.1", false), ("::127.0.0.1", false), ("64:ff9b::7f00:1", false),
      ("64:ff9b:1::808:808", false),
      ("2002:7f00:1::", false), ("2001::1", false), ("2001:db8::1", false), ("3fff:fff::1", false),
      ("fe80::1%eth0", false), ("fd00:ec2::254", false), ("ff02::1", false),
    ] as [(String, Bool)])
  func publicAddresses(_ text: String, _ isPublic: Bool) throws {
    let address = try #require(IPAddress(text))
    #expect(address.isPublic == isPublic)
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST
    var list: UnsafeMutablePointer<addrinfo>?
    // The interface may not exist here.
    guard !text.contains("%") else { return }
    try #require(getaddrinfo(text, nil, &hints, &list) == 0)
    defer { freeaddrinfo(list) }
    let found = try #require(list?.pointee)
    let bytes = UnsafeRawBufferPointer(start: found.ai_addr, count: Int(found.ai_addrlen))
    #expect(IPAddress(socketAddress: bytes) == address)
  }

  @Test(
    "a name is not an address",
    arguments: ["", "localhost", "1.2.3", "1.2.3.4.5", "0x7f.1", "12345::1", "[::1]"])
  func names(_ text: String) { #expect(IPAddress(text) == nil) }
}
