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
      aws_access_key_id = nested
    AWS_Access_Key_ID = B
    s3 =
      max_concurrent_requests = 20
    aws_secret_access_key = ; empty
    """

  @Test func settings() throws {
    let profile = try #require(SharedProfile("default", in: text, isConfig: false))
    #expect(profile["aws_access_key_id"] == "A")
    #expect(profile["aws_secret_access_key"] == "s#e;c/r+e=t")
    #expect(profile["region"] == nil)
    let other = try #require(SharedProfile("other", in: text, isConfig: false))
    #expect(other["aws_access_key_id"] == "B")
    #expect(other["max_concurrent_requests"] == nil)
    #expect(other["aws_secret_access_key"] == nil)
    #expect(SharedProfile("third", in: text, isConfig: false) == nil)
  }

  @Test func sectionsOfTheConfigFile() throws {
    let config = "[default]\nregion=a\n[profile x]\nregion=b\n[x]\nregion=c\n[ profile   y ]\nregion=d\n"
    #expect(try #require(SharedProfile("default", in: config, isConfig: true))["region"] == "a")
    #expect(try #require(SharedProfile("x", in: config, isConfig: true))["region"] == "b")
    #expect(try #require(SharedProfile("y", in: config, isConfig: true))["region"] == "d")
    #expect(SharedProfile("z", in: config, isConfig: true) == nil)
  }

  @Test("a profile's section of services names the endpoint of S3")
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
    #expect(SharedProfile.endpoint(ofServices: "mine", in: config) == "https://store.example")
    #expect(SharedProfile.endpoint(ofServices: "other", in: config) == nil)
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("config")
    try Data(config.utf8).write(to: file)
    for (profile, endpoint) in [("x", "https://store.example"), ("y", "https://all.example")] {
      let environment = ["AWS_CONFIG_FILE": file.path]
      #expect(try await LocalCredentials(environment: environment, profile: profile).endpoint() == endpoint)
    }
  }
}
