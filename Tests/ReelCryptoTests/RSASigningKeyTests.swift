import ReelCrypto
import ReelTestSupport
import Testing

/// Signing with a service account's key, and errors of invalid keys.
@Suite(.shortTime) struct RSASigningKeyTests {
  @Test("the example key of RFC 7515, A.2 makes the example's signature")
  func example() throws {
    let text =
      "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
      + "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    let signature = try RSASigningKey(pem: Self.example).signature(for: Array(text.utf8))
    #expect(
      hex(signature)
        == "702e218943e88fd11eb5d82dbf7845f34106ae1b81fff7731116add1717d83656d420afd3c96eedd73a2663e51"
        + "66687b000b87226e0187ed1073f945e582adfcef16d85a798ee8c66ddb3db8975b17d09402beedd5d9d9700710"
        + "8db28160d5f8040ca7445762b81fbe7ff9d92e0ae76f24f25b33bbe6f44ae61eb1040acb20044d3ef9128ed401"
        + "30795bd4bd3b41eecad066ab651981fde48df77f372dc38b9fafdd3befb18b5da3cc3c2eb02f9e3a41d612caad"
        + "15911273a05f23b9e838faaf849d698429ef5a1e88798236c3d40e604522a544c8f27a7a2db80663d16cf7caea"
        + "56de405cb2215a45b2c25566b55ac1a748a070dfc8a32a469543d019eefb47")
  }

  @Test("text around the block and the kind of line ends do not matter")
  func surroundings() throws {
    let plain = try RSASigningKey(pem: Self.example).signature(for: [1])
    for pem in [
      "Bag Attributes\n" + Self.example + "\nmore", Self.example.replacing("\n", with: "\r\n"),
      Self.example + "\n" + Self.small,
    ] {
      #expect(try RSASigningKey(pem: pem).signature(for: [1]) == plain)
    }
  }

  @Test("an error names what is wrong with a key")
  func badKeys() {
    for (pem, problem) in [
      ("", .notPEM), ("no PEM", .notPEM), ("-----BEGIN PRIVATE KEY-----", .notPEM),
      (String(Self.example.dropLast(40)), .notPEM), (Self.example.replacing("/", with: "?"), .notPEM),
      (Self.block("RSA PRIVATE KEY"), .pkcs1), (Self.block("ENCRYPTED PRIVATE KEY"), .encrypted),
      (Self.block("EC PRIVATE KEY"), .other("EC PRIVATE KEY")),
      (Self.block("PUBLIC KEY"), .other("PUBLIC KEY")),
      (Self.elliptic, .notRSA), (Self.edwards, .notRSA), (Self.small, .tooShort(bits: 1024)),
      (Self.block("PRIVATE KEY"), .damaged),
    ] as [(String, RSAKeyError)] {
      #expect(throws: problem) { try RSASigningKey(pem: pem) }
    }
  }

  @Test("a key with a wrong digit is refused, or its signatures are right")
  func damage() throws {
    let text = [UInt8]("sign".utf8)
    let right = try RSASigningKey(pem: Self.example).signature(for: text)
    let lines = Self.example.split(separator: "\n").map(String.init)
    for line in 1..<lines.count - 1 {
      var lines = lines
      let digit = lines[line].hasPrefix("A") ? "B" : "A"
      lines[line] = digit + lines[line].dropFirst()
      let key = try? RSASigningKey(pem: lines.joined(separator: "\n"))
      if let key { #expect(try key.signature(for: text) == right, "line \(line)") }
      // The modulus. The values after it are only partly needed.
      if line <= 6 { #expect(key == nil, "line \(line)") }
    }
  }

  @Test("no part of a key appears in a message or a dump")
  func secrecy() throws {
    var shown = ""
    dump(try RSASigningKey(pem: Self.example), to: &shown)
    #expect(!shown.contains("der"))
    let label = String(repeating: "x", count: 1000)
    #expect(RSAKeyError.other(label).reason.count < 100)
  }

  /// Well-formed PEM without contents.
  private static func block(_ label: String) -> String {
    "-----BEGIN \(label)-----\nAAAA\n-----END \(label)-----\n"
  }

  /// The key of RFC 7515, A.2.1.
  private static let example = """
    -----BEGIN PRIVATE KEY-----
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCh+BYK4uPJtGXO
    jS1lYmM2K5J9vinh8CR3/BYlzJChNuOL2TSXxbbqY913EeZ8dCn5VrD7io8ImtxL
    aYk8wTM/U+3QGbh3hCUv7JFP5IV3aVlL6kKA0ywPVb9ilE8TA5a8bpvfbr3SvaNn
    juygxmj3AbONv/s4yDQs4v5tJ/reSlpIdJed1LnPmt7Ex1sFhSwsD174pcF1A5L5
    ROjtZMEQxrZHYJqkeDrrnGya11UxMFBji4NmXG9veoKjlnAqH2QbgtPr8jkiGUkf
    toaHLFcW9Qr4NY2ai50Xw0Byj3+H2JoY2PyrZ62EWQwuz3WTOTY8BwNNb2BvniHg
    VFbK5emhAgMBAAECggEAEq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyW
    PEAeP88vLNO97IjlA7/GQ5sLKMgvfTeXZx9SE+7YwVol2NXOoAJe46sui395IW/G
    O+pWJ1O0BkTGoVEn2bKVRUCgu+GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzj
    kn439X0M/V51gfpRLI9JYanrC4D4qAdGcopV/0ZHHzQlBjudU2QvXt4ehNYTCBr6
    XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl/x/jTj3ccPDVZFD9pIuhLhBOneufuBiB
    4cS98l2SR/RQyGWSeWjnczT0QU91p1DhOVRuOopznQKBgQDgHMQQ60imZV1URk0K
    pLttoLhyt3SmqdEf/kgHePDdtzEafpAu+cS191R2JiuoF2yzWXnwFDcqGigp5BNr
    0AHQfD8/Lk8l1Mk09jxxCfui5nYooNyac8YFjm3vItzVCVDnEd3BbVWG8qf6deqE
    lMGAg+C2V0L4oNXnP7LZcPAZRwKBgQC5A8R+CZW2MvRTLLHzwZkUXV866cff7tx6
    kqa0finGG0KgeqlaZPxgCZnFp7AeAcCMtiynVlJ7vMVgePsLq6XtON4tB5kP9jAP
    rq3rbAOal78eUH5OcED6eNuCV8ixEu1eWcPNCS/l1OW1EnXUEoEHKl54Xrrz2uNw
    kgMTP1FZ1wKBgAcCn1dwJKufzBWQxWQp1vsM5fggqPN1qGb5y0MAk3g7/Ls5bkUp
    5u9SN0Ai3Ya6hNnvWJMb7sXQX6U/zyO2M/hTip7tUeh7CXgwo59dkpN75gJLVds2
    9+DAncu3KXU4f2Fa+7bLNrur53k8KwPOq2bbuTG69QtV7Jr5MR0AHWKNAoGBAIf/
    evpitUf+4JYbLpvNXWcY052Mpz22aR84mY3nh3F2LF2mjMJDpTg7FmuyPcVw6EcG
    yoAe9fa65iNqCq+jdw6PVNGo2hxfjSiZ8IIzHdsPXI89//pMjZcQK9r+CCoRjaZj
    OYiIDktVWZzmevJuv6WywUqd57LE3Zar3dLSIkx1AoGAIYd7DHOhrWvxkwPQsRM2
    tOgrjbcrfvtQJipd+DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd/QJQ3
    ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp/gh6A56
    03k2+ZQwVK0JKSHuLFkuQ3U=
    -----END PRIVATE KEY-----
    """

  private static let small = """
    -----BEGIN PRIVATE KEY-----
    MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBALrIvizKkj1lakw2
    PpprAVXiBWd5wK/Oy7S3xfUf07TVl/YFB8hiyWYV/HGPJPMKJaEML5EcVIAyti5G
    a8vRg1mBTLZwCQApblmwCmXSogkHKFuhLRkTheZbfI8tjnR3C8QRjIRW/96WWVv5
    ZHqkkvBQPvB6SdUYTCM/+q9nsZ8VAgMBAAECgYEAiuLXngCmiuaNCsxO8o1cedrN
    f+qlX1SaXe9EUAdxaQZlrzaAWf0ymikBBAOXSuyhnEWuXO0+2/BZTMFqSCyqyCxY
    laalxhiuhmxmrLV87bBy/WWX40mCWae1XDc2pp5yeyqzFEU2NzhCK6vJvb2IW4oz
    RziaVPXaj6JTVfIyruUCQQD3QIb0u3zQu7tTzYZm/9QNZ+zSJH/CNGfuS1AJKOYN
    Xsbn4mUhtz6CQoJBeXj1Wq6kYPjTTF4fZZQ+DLeMh1XvAkEAwWSH3iGmLHTH9jkN
    kJkTYkIDJNhhFCPUv7ozi4k41z5wm+WbAwcdMHSHOGmKbrP+Oeb8MnKENwYUz3iz
    slU/OwJAPiqtRA93/IuXOCTu7CrayFwfAV9H+C5xC0tIXmU4Iph37onP38BRKTNL
    yOaf8SDR1GbFaWtEJyTFNyy/YcgNZQJAGUiDWs8bYoSB//bFhzn8BsSKlK6VQoTM
    s6QsSPnPrJRFNJx3/5VWg5c4dm+V4ZM2kWtZXV8LWgY5gkZNd+sdMQJAQmLlVnVW
    E3fRVs59u0eRU8rLeQ2BE2sn/mkQVZpDmmR2BXvQ1O2WLpIEE+cj13jZkNT33YXI
    89/SFrxnZFMaGA==
    -----END PRIVATE KEY-----
    """

  private static let elliptic = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgy4oXkrX++0Sx4WOk
    wfu8JS+ttkk4QlkINZNZIANN7nuhRANCAAQLwbO3YmRu2VWaNGuIJNjv5+y89ggE
    HQ7H4RLexT/mvPL9sLBOhyycwaeoub4DpE7if8s18kYmZwUjmhqmKo6I
    -----END PRIVATE KEY-----
    """

  /// An Ed25519 key.
  private static let edwards = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIFYvTaqADzGOk0gJeKx0k2zefXnigGizZqwbpn60vgJV
    -----END PRIVATE KEY-----
    """
}
