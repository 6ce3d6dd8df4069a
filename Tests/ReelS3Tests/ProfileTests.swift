import Foundation
import ReelCore
import Testing

@testable import ReelRemoteStorage

@Suite struct SharedProfileTests {
  private let text = """
    # people's own notes
    [default]
    aws_access_key_id = A
    aws_secret_access_key=s#e;c/r+e=t   # why
    region =
    [other]
    AWS_Access_Key_ID = B
      aws_session_token = nested
    s3 =
      max_concurrent_requests = 20
    aws_secret_access_key = ; empty
    """

  @Test func settings() throws {
    let file = SharedFile(text)
    let profile = try #require(file.credentials("default"))
    #expect(profile["aws_access_key_id"] == "A")
    #expect(profile["aws_secret_access_key"] == "s#e;c/r+e=t")
    #expect(profile["region"] == nil)
    let other = try #require(file.credentials("other"))
    #expect(other["aws_access_key_id"] == "B" && other["aws_session_token"] == nil)
    #expect(other["max_concurrent_requests"] == nil && other["s3", "max_concurrent_requests"] == "20")
    #expect(other["aws_secret_access_key"] == nil)
    #expect(file.credentials("third") == nil)
  }

  @Test func sectionsOfTheConfigFile() throws {
    let config = "[default]\nregion=a\n[profile x]\nregion=b\n[x]\nregion=c\n[ profile   y ]\nregion=d\n"
    let file = SharedFile(config)
    #expect(try #require(file.profile("default"))["region"] == "a")
    #expect(try #require(file.profile("x"))["region"] == "b")
    #expect(try #require(file.profile("y"))["region"] == "d")
    #expect(file.profile("z") == nil)
  }

  /// botocore splits the text in the brackets with `shlex`.
  @Test(
    "section names are split as by a shell",
    arguments: [
      (#"profile "Foo Bar""#, "Foo Bar"), ("profile 'Foo Bar'", "Foo Bar"), (#"profile Foo\ Bar"#, "Foo Bar"),
      (#"profile "a'b""#, "a'b"), (#"profile fo"o "b"#, nil), ("profile Foo Bar", nil), (#"profile "x"#, nil),
      (#"profile "say \"hi\"""#, #"say "hi""#), ("profile\tx", "x"),
    ] as [(String, String?)])
  func quoted(_ section: String, _ name: String?) {
    let file = SharedFile("[\(section)]\nregion = a\n[services \"b c\"]\ns3 =\n  endpoint_url = https://s\n")
    for known in ["Foo Bar", "a'b", "x", #"say "hi""#, "Foo"] {
      #expect((file.profile(known) != nil) == (known == name), "\(known)")
    }
    #expect(file.services("b c")?["s3", "endpoint_url"] == "https://s")
  }

  /// As the AWS CLI parses them (Python's configparser).
  @Test("a section may be indented as a whole and use colons")
  func indented() throws {
    let file = SharedFile("[profile x]\n  region: a\n  endpoint_url = https://h\n\n    y = z\n  k = v\n")
    let profile = try #require(file.profile("x"))
    #expect(profile["region"] == "a" && profile["endpoint_url"] == "https://h" && profile["k"] == "v")
    #expect(profile["y"] == nil && profile["endpoint_url", "y"] == "z")
  }

  @Test("a profile's services section names the endpoint of S3")
  func services() async throws {
    let config = """
      [profile x]
      services = mine
      endpoint_url = https://all.example
      [profile y]
      endpoint_url = https://all.example
      services = other
      [services mine]
      dynamodb =
        endpoint_url = https://db.example
      s3 =
        # the store
        max_attempts = 3
        endpoint_url = https://store.example
      [services other]
      dynamodb =
        endpoint_url = https://db.example
      """
    for (profile, found) in [("x", "https://store.example"), ("y", "https://all.example")] {
      #expect(try await endpoint(profile, config: config) == found)
    }
  }

  /// The endpoint that LocalCredentials finds with these files.
  private func endpoint(
    _ profile: String?, config: String = "", credentials: String = "", _ environment: [String: String] = [:]
  ) async throws -> String? {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var all = environment
    for (variable, text) in [("AWS_CONFIG_FILE", config), ("AWS_SHARED_CREDENTIALS_FILE", credentials)] {
      let file = folder.appendingPathComponent(variable)
      try Data(text.utf8).write(to: file)
      all[variable] = file.path
    }
    return try await LocalCredentials(environment: all, profile: profile).endpoint()
  }

  @Test("an endpoint that a profile names is never ignored")
  func neverOverlooked() async throws {
    let quoted = "[profile \"Foo Bar\"]\nendpoint_url = https://h\n"
    #expect(try await endpoint("Foo Bar", config: quoted) == "https://h")
    #expect(try await endpoint(nil, config: quoted, ["AWS_PROFILE": "Foo Bar"]) == "https://h")
    // The credentials file is read, too, and takes precedence.
    let credentials = "[work]\nendpoint_url = https://c\n"
    #expect(try await endpoint("work", credentials: credentials) == "https://c")
    #expect(
      try await endpoint(
        "work", config: "[profile work]\nendpoint_url = https://h\n", credentials: credentials) == "https://c"
    )
    for (profile, environment, config, words) in [
      ("work", [:], "[profile work]\nservices = typo\n[services other]\n", "[services typo]"),
      ("typo", [:], quoted, "no profile named typo"),
      (nil, ["AWS_PROFILE": "typo"], quoted, "no profile named typo"),
      ("w", [:], "[profile w]\nuse_fips_endpoint = true\n", "https://s3-fips."),
      (nil, ["AWS_USE_FIPS_ENDPOINT": "True"], "", "https://s3-fips."),
      (nil, ["AWS_USE_DUALSTACK_ENDPOINT": "true"], "", "https://s3.dualstack."),
      ("w", [:], "[profile w]\nuse_dualstack_endpoint = true\n", "`endpoint`"),
    ] as [(String?, [String: String], String, String)] {
      let error = await #expect(throws: UploadError.self) {
        _ = try await endpoint(profile, config: config, environment)
      }
      #expect(
        error?.code == .storeUnusable && error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
    // A setting that is off has no effect, nor has one for Amazon at a custom endpoint.
    #expect(try await endpoint(nil, ["AWS_USE_FIPS_ENDPOINT": "false"]) == nil)
    #expect(
      try await endpoint(nil, ["AWS_USE_FIPS_ENDPOINT": "true", "AWS_ENDPOINT_URL": "https://h"])
        == "https://h")
  }

  @Test(
    "endpoints are ignored where AWS's own setting demands it",
    arguments: [
      (nil, nil, "https://h"), ("true", nil, nil), ("TRUE", "false", nil), (nil, "true", nil),
      ("false", "true", "https://h"),
    ] as [(String?, String?, String?)])
  func ignored(_ variable: String?, _ setting: String?, _ found: String?) async throws {
    let config =
      "[default]\nendpoint_url = https://h\nservices = s\nignore_configured_endpoint_urls = \(setting ?? "")\n"
      + "[services s]\ns3 =\n  endpoint_url = https://h\n"
    var environment: [String: String] = [:]
    environment["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = variable
    #expect(try await endpoint(nil, config: config, environment) == found)
    environment["AWS_ENDPOINT_URL"] = "https://h"
    #expect(try await endpoint(nil, config: config, environment) == found)
  }
}
