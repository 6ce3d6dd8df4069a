import Foundation
import HTTPTypes
import ReelCore
import ReelCrypto
import Testing

@testable import ReelRemoteStorage

/// What servers announce, and what of it is reported.
@Suite struct TusServerTests {
  private let endpoint = TusURL(origin: HTTPOrigin(isSecure: true, host: "host.example"), target: "/files/")

  @Test(
    "addresses of endpoints are understood",
    arguments: [
      ("tus+https://host.example/files/", "tus+https://host.example/files"),
      ("TUS+HTTPS://Host.Example:443/files", "tus+https://host.example/files"),
      ("tus+http://127.0.0.1:1080", "tus+http://127.0.0.1:1080"),
      ("tus+https://[::1]:8443/a%20b/", "tus+https://[::1]:8443/a%20b"),
    ])
  func endpoints(_ text: String, _ name: String) throws {
    #expect(try #require(TusEndpoint(text)).destination.name == name)
  }

  @Test(
    "what is not an endpoint is rejected",
    arguments: [
      "", "tus+", "https://host/files", "tus+ftp://host/", "tus+https:///files", "tus+https://u:p@host/files",
      "tus+https://u@host/files", "tus+https://host/files?a", "tus+https://host/files#a",
      "tus+https://host:99999/",
    ])
  func noEndpoints(_ text: String) { #expect(TusEndpoint(text) == nil) }

  @Test(
    "locations are resolved",
    arguments: [
      ("https://host.example/files/1", "https://host.example/files/1"),
      ("/x/1?a=b", "https://host.example/x/1?a=b"),
      ("1", "https://host.example/files/1"), ("//other.example/1", "https://other.example/1"),
      ("https://other.example:444/1#f", "https://other.example:444/1"),
      ("HTTP://host.example/1", "http://host.example/1"),
    ])
  func locations(_ text: String, _ meaning: String) {
    #expect(TusURL(location: text, from: endpoint)?.text == meaning)
  }

  @Test(
    "what is not a location is rejected",
    arguments: [
      "", "ftp://host/1", "javascript:alert(1)", "../../etc", "a b", "https://u:p@host/1", "/é", "https://",
    ])
  func noLocations(_ text: String) { #expect(TusURL(location: text, from: endpoint) == nil) }

  @Test func aPlaceIsReadAsItWasWritten() throws {
    let digest = try #require(ContentDigest(sha256: SHA256.hash(data: [1])))
    let place = TusUploadState(
      TusURL(origin: endpoint.origin, target: "/files/1?x=%20"), through: 9, prefix: digest)
    #expect(TusUploadState(place.text) == place)
    for bad in [
      "", "tus1", place.text + " x", place.text.replacing("tus1", with: "tus2"), "tus1 -1 \(digest.hex) /1",
    ] {
      #expect(TusUploadState(bad) == nil)
    }
  }

  @Test func capabilitiesAreRead() throws {
    func server(_ status: Int, _ fields: [(HTTPField.Name, String)]) -> TusServer? {
      var all = HTTPFields()
      for (name, value) in fields { all[name] = value }
      return TusServer(HTTPReply(status: .init(code: status), fields: all), endpoint: endpoint)
    }
    let rich = try #require(
      server(
        204,
        [
          (.tusVersion, "0.2.2, 1.0.0"), (.tusExtension, "Creation, checksum ,termination"),
          (.tusChecksumAlgorithm, "crc32,MD5, sha1"), (.tusMaxSize, "1000"),
        ]))
    #expect(rich.canCreate && rich.canTerminate && rich.checksum == .sha1 && rich.largest == 1000)
    #expect(!rich.takesFirstPart)
    let poor = try #require(server(200, [(.tusResumable, "1.0.0"), (.tusExtension, "creation-with-upload")]))
    #expect(!poor.canCreate && poor.takesFirstPart && poor.checksum == nil && poor.largest == nil)
    #expect(server(200, []) == nil)
    #expect(server(404, [(.tusVersion, "1.0.0")]) == nil)
    #expect(server(200, [(.tusVersion, "0.2.2")]) == nil)
  }

  @Test(
    "an upload that a server has locked is retried after the time that it states",
    arguments: [(nil, 3), ("7", 7), ("Sun, 06 Nov 1994 08:49:47 GMT", 10)] as [(String?, Double)])
  func locked(_ said: String?, _ seconds: Double) {
    var fields: HTTPFields = [.date: "Sun, 06 Nov 1994 08:49:37 GMT"]
    fields[.retryAfter] = said
    let failure = TusFailure(store: Destination("tus+https://host.example/files"), now: { Date() })
    let error = failure(HTTPReply(status: .init(code: 423), fields: fields), "take a part of k.mp4")
    #expect(error.code == .unavailable && error.retryAfter == seconds)
  }

  @Test func checksumsAreThoseOfTheProtocol() {
    // The example in tus 1.0.0, "Upload-Checksum".
    #expect(TusChecksum.sha1.field(of: Array("hello world".utf8)) == "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=")
  }

  @Test func addresses() throws {
    let key = try #require(ObjectKey("k.mp4"))
    let url = TusURL(origin: endpoint.origin, target: "/files/24e5?x=1")
    for (base, expected) in [
      (nil, "https://host.example/files/24e5?x=1"), ("https://cdn.example/v", "https://cdn.example/v/k.mp4"),
      ("https://cdn.example/{id}/play", "https://cdn.example/24e5/play"),
      ("https://{id}.cdn.example/{key}", "https://24e5.cdn.example/k.mp4"),
    ] as [(String?, String)] {
      #expect(TusAddresses(publicBaseURL: base).url(of: key, at: url) == expected)
    }
  }
}
