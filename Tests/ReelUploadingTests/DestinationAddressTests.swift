import ReelUploading
import Testing

@Suite struct DestinationAddressTests {
  @Test(
    "folders",
    arguments: [
      ("media", "media"), ("/srv/media", "/srv/media"), ("./a:b", "./a:b"), ("a:b", "a:b"), ("C:x", "C:x"),
      ("~user", "~user"), ("./~", "./~"), ("a/b://c", "a/b://c"), ("100%", "100%"), ("ä b", "ä b"),
      (".", "."),
      ("file:///srv/media", "/srv/media"), ("FILE:///srv", "/srv"), ("file:/srv", "/srv"),
      ("file://localhost/srv", "/srv"), ("file:///a%20b/%C3%A4", "/a b/ä"), ("file:///", "/"),
    ])
  func folders(_ text: String, _ path: String) throws {
    #expect(try DestinationAddress(parsing: text) == .folder(path: path))
  }

  @Test(
    "what is no folder",
    arguments: [
      ("", .empty), ("a\0b", .notAPath), ("~", .notAPath), ("~/media", .notAPath),
      ("file:media", .notAPath), ("file://host/media", .notAPath), ("file:///a%2", .notAPath),
      ("file:///a%zz", .notAPath), ("file:///a%ff", .notAPath), ("file:///a%00", .notAPath),
      ("file:///a?b", .notAPath), ("file:///a#b", .notAPath),
      ("tus://host/files", .unsupported),
      ("firebase://project/bucket", .unsupported), ("command:", .notAPath), ("command:#x", .notAPath),
      ("command:a%0", .notAPath), ("command:a%00", .notAPath), ("command:a#", .notAPath),
      ("command:a#b c", .notAPath), ("command:a#b#c", .notAPath),
      ("s3://", .notABucket), ("s3:///prefix", .notABucket), ("s3://b?x", .notABucket),
      ("s3://b/#", .notABucket),
      ("s3+https://host", .notABucket), ("s3+https:///b", .notABucket), ("s3+ftp://host/b", .unsupported),
      ("gopher://host", .unsupported),
    ] as [(String, DestinationAddressError.Code)])
  func refusals(_ text: String, _ code: DestinationAddressError.Code) throws {
    let error = #expect(throws: DestinationAddressError.self) { try DestinationAddress(parsing: text) }
    #expect(error?.code == code)
    #expect(error?.message.isEmpty == false)
  }

  @Test(
    "programs",
    arguments: [
      ("command:./adapter", "./adapter", nil), ("COMMAND:/opt/a%20b%23c", "/opt/a b#c", nil),
      ("command:adapter#north/clips-1", "adapter", "north/clips-1"), ("command:///x", "///x", nil),
    ] as [(String, String, String?)])
  func programs(_ text: String, _ path: String, _ store: String?) throws {
    #expect(try DestinationAddress(parsing: text) == .command(path: path, store: store))
  }

  @Test(
    "buckets",
    arguments: [
      ("s3://bucket", "bucket", "", nil), ("S3://bucket/", "bucket", "", nil),
      ("s3://bucket/a/b", "bucket", "a/b", nil), ("s3://bucket//a//b/", "bucket", "a/b", nil),
      ("s3+https://h/bucket", "bucket", "", "https://h"),
      ("s3+http://127.0.0.1:9000/bucket/a", "bucket", "a", "http://127.0.0.1:9000"),
    ] as [(String, String, String, String?)])
  func buckets(_ text: String, _ bucket: String, _ prefix: String, _ endpoint: String?) throws {
    #expect(
      try DestinationAddress(parsing: text)
        == .s3(S3Address(bucket: bucket, prefix: prefix, endpoint: endpoint)))
  }

  @Test func aPasswordIsNotRepeated() {
    let error = #expect(throws: DestinationAddressError.self) {
      try DestinationAddress(parsing: "s3://me:secret@bucket")
    }
    #expect(error?.message.contains("secret") == false)
    #expect(error?.code == .notABucket)
  }
}
