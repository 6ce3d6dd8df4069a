import ReelStorage
import Testing

@Suite struct DestinationAddressTests {
  @Test(
    "addresses of folders",
    arguments: [
      ("media", "media"), ("/srv/media", "/srv/media"), ("./a:b", "./a:b"), ("a:b", "a:b"), ("C:x", "C:x"),
      ("~user", "~user"), ("./~", "./~"), ("a/b://c", "a/b://c"), ("100%", "100%"), ("ä b", "ä b"),
      (".", "."),
      ("./s3:media", "./s3:media"), ("a/s3:x", "a/s3:x"), ("s4:x", "s4:x"), ("s3", "s3"),
      ("file:///srv/media", "/srv/media"), ("FILE:///srv", "/srv"), ("file:/srv", "/srv"),
      ("file://localhost/srv", "/srv"), ("file:///a%20b/%C3%A4", "/a b/ä"), ("file:///", "/"),
    ])
  func folders(_ text: String, _ path: String) throws {
    #expect(try DestinationAddress(parsing: text) == .folder(path: path))
  }

  @Test(
    "addresses that do not name a folder",
    arguments: [
      ("", .empty), ("a\0b", .notAPath), ("~", .notAPath), ("~/media", .notAPath),
      ("file:media", .notAPath), ("file://host/media", .notAPath), ("file:///a%2", .notAPath),
      ("file:///a%zz", .notAPath), ("file:///a%ff", .notAPath), ("file:///a%00", .notAPath),
      ("file:///a?b", .notAPath), ("file:///a#b", .notAPath),
      ("tus://host/files", .unsupported),
      ("firebase://", .notABucket), ("firebase:///prefix", .notABucket), ("firebase://b?x", .notABucket),
      ("firebase://b#x", .notABucket), ("firebase+http://host", .notABucket),
      ("firebase+http:///b", .notABucket), ("firebase+ftp://host/b", .unsupported),
      ("firebase://me:secret@b", .notABucket), ("command:", .notAPath), ("command:#x", .notAPath),
      ("command:a%0", .notAPath), ("command:a%00", .notAPath), ("command:a#", .notAPath),
      ("command:a#b c", .notAPath), ("command:a#b#c", .notAPath),
      ("s3://", .notABucket), ("s3:///prefix", .notABucket), ("s3://b?x", .notABucket),
      ("s3://b/#", .notABucket),
      ("s3+https://host", .notABucket), ("s3+https:///b", .notABucket), ("s3+ftp://host/b", .unsupported),
      ("gopher://host", .unsupported), ("me@host:/srv", .notAPath), ("host:/srv", .notAPath),
      ("C:\\media", .notAPath), ("C:/media", .notAPath), ("$HOME/media", .notAPath), ("${MEDIA}", .notAPath),
    ] as [(String, DestinationAddressError.Code)])
  func refusals(_ text: String, _ code: DestinationAddressError.Code) throws {
    let error = #expect(throws: DestinationAddressError.self) { try DestinationAddress(parsing: text) }
    #expect(error?.code == code)
    #expect(error?.message.isEmpty == false)
  }

  @Test("an unknown scheme is named, and the only colon after it is the sentence's own")
  func unknownScheme() throws {
    let error = #expect(throws: DestinationAddressError.self) {
      try DestinationAddress(parsing: "gopher://x")
    }
    #expect(error?.message.contains("does not support destinations of the type gopher: name") == true)
  }

  @Test(
    "a store's address without // is not taken for a folder",
    arguments: [
      ("s3:media/2026", "s3://bucket/prefix"), ("S3:/media", "s3://bucket/prefix"),
      ("s3:", "s3://bucket/prefix"),
      ("s3+https:/h/b", "s3+https://host/bucket/prefix"), ("s3+http:h/b", "s3+http://host/bucket/prefix"),
      ("tus:/host/files", "tus+https://host/files/"), ("tus+https:/host/files", "tus+https://host/files/"),
      ("tus+http:host", "tus+http://host/files/"), ("firebase:my-app", "firebase://bucket/prefix"),
      ("firebase+https:/h/b", "firebase+https://host/bucket/prefix"),
      ("firebase+http:/h/b", "firebase+http://host/bucket/prefix"),
      ("s3:me:secret@b", "s3://bucket/prefix"),
    ])
  func slashes(_ text: String, _ example: String) throws {
    let error = try #require(
      #expect(throws: DestinationAddressError.self) { try DestinationAddress(parsing: text) })
    let scheme = text.prefix { $0 != ":" }.lowercased()
    #expect(
      error.message == "a destination that begins with \(scheme): is written like \(example) "
        + "(for a folder of that name write ./\(scheme):…)")
    #expect(error.code == (scheme.hasPrefix("tus") ? .notAServer : .notABucket))
  }

  @Test(
    "addresses of programs",
    arguments: [
      ("command:./adapter", "./adapter", nil), ("COMMAND:/opt/a%20b%23c", "/opt/a b#c", nil),
      ("command:adapter#north/clips-1", "adapter", "north/clips-1"), ("command:///x", "///x", nil),
    ] as [(String, String, String?)])
  func programs(_ text: String, _ path: String, _ store: String?) throws {
    #expect(try DestinationAddress(parsing: text) == .command(path: path, store: store))
  }

  @Test(
    "addresses of buckets",
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

  @Test(
    "addresses of Firebase buckets",
    arguments: [
      ("firebase://my-app.appspot.com", "my-app.appspot.com", "", nil),
      ("FIREBASE://b//a//c/", "b", "a/c", nil),
      ("firebase+http://127.0.0.1:9199/b/a", "b", "a", "http://127.0.0.1:9199"),
      ("firebase+https://h/b", "b", "", "https://h"),
    ] as [(String, String, String, String?)])
  func firebase(_ text: String, _ bucket: String, _ prefix: String, _ emulator: String?) throws {
    #expect(
      try DestinationAddress(parsing: text)
        == .firebase(FirebaseAddress(bucket: bucket, prefix: prefix, emulator: emulator)))
  }

  @Test("a password is never repeated", arguments: ["s3://me:secret@bucket", "firebase://me:secret@bucket"])
  func passwords(_ text: String) {
    let error = #expect(throws: DestinationAddressError.self) { try DestinationAddress(parsing: text) }
    #expect(error?.message.contains("secret") == false)
    #expect(error?.code == .notABucket)
  }

  @Test(
    "the command that moves an object away is derived from the address in the catalog",
    arguments: [
      (
        "file:///srv/my%20media",
        "mkdir -p '/srv/my media-unknown' && mv -n '/srv/my media/k.mp4' '/srv/my media-unknown/'"
      ),
      ("file:///srv/media/", "mkdir -p /srv/media-unknown && mv -n /srv/media/k.mp4 /srv/media-unknown/"),
      ("firebase://b", "gcloud storage mv --no-clobber 'gs://b/k.mp4' 'gs://b/unknown/k.mp4'"),
      ("firebase://b/v/w", "gcloud storage mv --no-clobber 'gs://b/v/w/k.mp4' 'gs://b/v/w-unknown/k.mp4'"),
      ("firebase+http://127.0.0.1:9199/b", nil), ("s3://b/v", nil), ("tus+https://h/files/", nil),
      ("command:/opt/adapter#s", nil), ("shelf:tests", nil), ("media", nil),
    ] as [(String, String?)])
  func away(_ name: String, _ command: String?) {
    #expect(DestinationAddress(ofName: name)?.commandMovingAway("k.mp4") == command)
  }
}
