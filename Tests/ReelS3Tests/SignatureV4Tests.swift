import FoundationEssentials
import ReelCore
import Testing

@testable import ReelRemoteStorage

/// One of the vectors that AWS publishes.
struct SignatureVector: Sendable, CustomTestStringConvertible {
  let name: String
  var method = "GET"
  var path = "/"
  var query: [(String, String)] = []
  let fields: [String: String]
  var payload = SignatureVector.empty
  let signature: String

  static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  var testDescription: String { name }

  var request: SignatureV4.Request {
    SignatureV4.Request(method: method, path: path, query: query, fields: fields, payload: payload)
  }
}

/// AWS, "Signature Calculations for the Authorization Header" and "Authenticating Requests: Using Query Parameters"
/// (the Amazon S3 API Reference), and the signing test suite of the aws-c-auth library (its cases for services that do
/// not normalize paths).
@Suite struct SignatureV4Tests {
  static let s3Key = S3Credentials(
    keyID: "AKIAIOSFODNN7EXAMPLE", secret: Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))
  static let suiteKey = S3Credentials(
    keyID: "AKIDEXAMPLE", secret: Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"))
  static let s3Date = Date(timeIntervalSince1970: 1_369_353_600)  // 20130524T000000Z
  static let suiteDate = Date(timeIntervalSince1970: 1_440_938_160)  // 20150830T123600Z

  private static let s3Host = "examplebucket.s3.amazonaws.com"
  private static let unreserved = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
  private static let suiteFields = ["host": "example.amazonaws.com", "x-amz-date": "20150830T123600Z"]

  static let s3: [SignatureVector] = [
    SignatureVector(
      name: "GET Object", path: "/test.txt",
      fields: [
        "host": s3Host, "range": "bytes=0-9", "x-amz-content-sha256": SignatureVector.empty,
        "x-amz-date": "20130524T000000Z",
      ],
      signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
    SignatureVector(
      name: "PUT Object", method: "PUT", path: "/" + PercentEncoding.path("test$file.text"),
      fields: [
        "date": "Fri, 24 May 2013 00:00:00 GMT", "host": s3Host,
        "x-amz-content-sha256": "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
        "x-amz-date": "20130524T000000Z", "x-amz-storage-class": "REDUCED_REDUNDANCY",
      ],
      payload: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
      signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
    SignatureVector(
      name: "GET Bucket Lifecycle", query: [("lifecycle", "")],
      fields: [
        "host": s3Host, "x-amz-content-sha256": SignatureVector.empty, "x-amz-date": "20130524T000000Z",
      ],
      signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    SignatureVector(
      name: "List Objects", query: [("prefix", "J"), ("max-keys", "2")],
      fields: [
        "host": s3Host, "x-amz-content-sha256": SignatureVector.empty, "x-amz-date": "20130524T000000Z",
      ],
      signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
  ]

  static let suite: [SignatureVector] = [
    SignatureVector(
      name: "get-vanilla", fields: suiteFields,
      signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    SignatureVector(
      name: "post-vanilla", method: "POST", fields: suiteFields,
      signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    SignatureVector(
      name: "get-vanilla-query-order-key-case", query: [("Param2", "value2"), ("Param1", "value1")],
      fields: suiteFields, signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
    SignatureVector(
      name: "get-vanilla-query-unreserved", query: [(unreserved, unreserved)], fields: suiteFields,
      signature: "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"),
    SignatureVector(
      name: "get-vanilla-utf8-query", query: [("ሴ", "bar")], fields: suiteFields,
      signature: "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
    SignatureVector(
      name: "get-unreserved", path: PercentEncoding.path("/" + unreserved), fields: suiteFields,
      signature: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
    SignatureVector(
      name: "get-space-unnormalized", path: PercentEncoding.path("/example space/"), fields: suiteFields,
      signature: "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
    SignatureVector(
      name: "get-slashes-unnormalized", path: PercentEncoding.path("//example//"), fields: suiteFields,
      signature: "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5"),
    SignatureVector(
      name: "get-header-value-trim",
      fields: suiteFields.merging(["my-header1": " value1", "my-header2": " \"a   b   c\""]) { $1 },
      signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
    SignatureVector(
      name: "post-header-value-case", method: "POST",
      fields: suiteFields.merging(["my-header1": "VALUE1"]) { $1 },
      signature: "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"),
    SignatureVector(
      name: "get-vanilla-with-session-token",
      fields: suiteFields.merging([
        "x-amz-security-token": "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"
      ]) { $1 },
      signature: "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"),
  ]

  @Test("the examples of the S3 reference match", arguments: s3)
  func s3Examples(_ vector: SignatureVector) {
    #expect(
      SignatureV4(region: "us-east-1").signature(vector.request, Self.s3Key, at: Self.s3Date)
        == vector.signature)
  }

  @Test("the signing test suite matches", arguments: suite)
  func suiteCases(_ vector: SignatureVector) {
    let signer = SignatureV4(region: "us-east-1", service: "service")
    #expect(signer.signature(vector.request, Self.suiteKey, at: Self.suiteDate) == vector.signature)
  }

  @Test("a signature covers everything that is signed: any change alters it", arguments: s3)
  func everythingCounts(_ vector: SignatureVector) {
    let signer = SignatureV4(region: "us-east-1")
    let other: [String] = [
      SignatureV4(region: "us-east-2").signature(vector.request, Self.s3Key, at: Self.s3Date),
      signer.signature(vector.request, Self.s3Key, at: Self.s3Date.addingTimeInterval(86_400)),
      signer.signature(vector.request, Self.suiteKey, at: Self.s3Date),
      signer.signature(changed(vector) { $0 + "x" }, Self.s3Key, at: Self.s3Date),
    ]
    #expect(!other.contains(vector.signature))
  }

  private func changed(_ vector: SignatureVector, _ path: (String) -> String) -> SignatureV4.Request {
    SignatureV4.Request(
      method: vector.method, path: path(vector.path), query: vector.query, fields: vector.fields,
      payload: vector.payload)
  }

  @Test("the example of a presigned address matches")
  func presigned() {
    let query = SignatureV4(region: "us-east-1").presignedQuery(
      SignatureV4.Request(
        method: "GET", path: "/test.txt", fields: ["host": Self.s3Host], payload: SignatureV4.unsignedPayload),
      Self.s3Key, at: Self.s3Date, seconds: 86_400)
    #expect(
      query == "X-Amz-Algorithm=AWS4-HMAC-SHA256"
        + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
  }

  @Test("the signing test suite's presigned requests match")
  func presignedSuite() {
    let signer = SignatureV4(region: "us-east-1", service: "service")
    let request = SignatureV4.Request(
      method: "GET", path: "/", fields: ["host": "example.amazonaws.com"], payload: SignatureVector.empty)
    let token = Secret("6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267")
    let withToken = S3Credentials(keyID: "AKIDEXAMPLE", secret: Self.suiteKey.secret, token: token)
    for (key, signature) in [
      (Self.suiteKey, "e93c787ed7f371d5c6b165c1b38ede9550f4dce4144713e844b25b7192d3865d"),
      (withToken, "7ff2b50b376cb4d151970630573d6291dc128cc5c2a12ffb237f73cc53f67b6c"),
    ] {
      let query = signer.presignedQuery(request, key, at: Self.suiteDate, seconds: 3600)
      #expect(query.hasSuffix("&X-Amz-Signature=" + signature))
    }
  }

  @Test("the Authorization header is written as S3 requires and printed as dots")
  func authorization() {
    let field = SignatureV4(region: "us-east-1").authorization(
      Self.s3[0].request, Self.s3Key, at: Self.s3Date)
    #expect(
      field.revealed == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
        + "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    #expect("\(field)" == "•••")
  }
}
