import FoundationEssentials
import HTTPTypes
import ReelHTTP
import ReelModel

/// Credentials from the endpoint of a container's runtime or of a virtual machine. Nobody asks them unless told to: an
/// address that answers to every program on a machine is not to be believed by accident.
public struct EndpointCredentials: Sendable {
  private let transport: any HTTPTransport
  private let environment: [String: String]

  /// - Parameters:
  ///   - transport: must allow plain http: the endpoints have link-local addresses, which no router passes on.
  ///   - environment: the process's.
  public init(transport: any HTTPTransport, environment: [String: String]) {
    self.transport = transport
    self.environment = environment
  }

  /// From `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or `…_FULL_URI`, with the token of
  /// `AWS_CONTAINER_AUTHORIZATION_TOKEN` (AWS, "Container credential provider").
  /// - Throws: `storeUnusable` when there is no such endpoint, or it gives none.
  public func container() async throws(UploadError) -> S3Credentials {
    let (origin, target) = try containerAddress()
    var call = HTTPCall(.get, origin, target)
    if let token = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"], !token.isEmpty {
      call.credentials = [HTTPCredential(.authorization, Secret(token), for: origin)]
    }
    return try credentials(in: try await ask(call, "the container's endpoint"), "the container's endpoint")
  }

  /// From the instance metadata service, version 2 (AWS, "Use the Instance Metadata Service").
  /// - Throws: `storeUnusable` when there is no such service, or the machine has no role.
  public func instance() async throws(UploadError) -> S3Credentials {
    let who = "the instance metadata service"
    let origin = HTTPOrigin(isSecure: false, host: "169.254.169.254")
    var call = HTTPCall(.put, origin, "/latest/api/token", fields: [Self.lifetime: "21600"])
    call.patience = .seconds(5)
    let token = Secret(String(decoding: try await ask(call, who), as: UTF8.self))
    let folder = "/latest/meta-data/iam/security-credentials/"
    func get(_ target: String) async throws(UploadError) -> [UInt8] {
      var call = HTTPCall(.get, origin, target)
      call.patience = .seconds(5)
      call.credentials = [HTTPCredential(Self.token, token, for: origin)]
      return try await ask(call, who)
    }
    let roles = String(decoding: try await get(folder), as: UTF8.self).split(whereSeparator: \.isNewline)
    guard let role = roles.first else { throw Self.none(who, "this machine has no role") }
    return try credentials(in: try await get(folder + PercentEncoding.all(String(role))), who)
  }

  private func containerAddress() throws(UploadError) -> (HTTPOrigin, String) {
    let who = "the container's endpoint"
    if let path = environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"], path.hasPrefix("/") {
      return (HTTPOrigin(isSecure: false, host: "169.254.170.2"), path)
    }
    guard let full = environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] else {
      throw Self.none(
        who, "neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is set")
    }
    let address: HTTPAddress
    do throws(HTTPAddressError) {
      address = try HTTPAddress(parsing: full)
    } catch {
      throw Self.none(who, "AWS_CONTAINER_CREDENTIALS_FULL_URI can't be used: \(error.reason)")
    }
    let origin = address.origin
    guard origin.isSecure || origin.isLoopback || Self.linkLocal.contains(origin.host) else {
      throw Self.none(who, "AWS_CONTAINER_CREDENTIALS_FULL_URI is plain http to another machine")
    }
    return (origin, address.path.isEmpty ? "/" : address.path)
  }

  /// The addresses of ECS and EKS, which no router passes on.
  private static let linkLocal = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"]
  private static let lifetime = HTTPField.Name.ours("x-aws-ec2-metadata-token-ttl-seconds")
  private static let token = HTTPField.Name.ours("x-aws-ec2-metadata-token")

  private func ask(_ call: HTTPCall, _ who: String) async throws(UploadError) -> [UInt8] {
    do throws(HTTPFailure) {
      let reply = try await transport.send(call)
      guard reply.status == .ok else { throw HTTPFailure.garbled("status \(reply.status.code)") }
      return reply.body
    } catch {
      if error == .cancelled { throw UploadError(error, store: who) }
      throw Self.none(who, "it gave no answer that could be used: \(error)")
    }
  }

  private struct Answer: Decodable {
    let AccessKeyId: String
    let SecretAccessKey: String
    let Token: String
    let Expiration: String
  }

  private func credentials(in body: [UInt8], _ who: String) throws(UploadError) -> S3Credentials {
    guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(body)) else {
      throw Self.none(who, "its answer holds no credentials")
    }
    return S3Credentials(
      keyID: answer.AccessKeyId, secret: Secret(answer.SecretAccessKey), token: Secret(answer.Token),
      expires: try? Date(answer.Expiration, strategy: .iso8601))
  }

  private static func none(_ who: String, _ why: String) -> UploadError {
    UploadError(.storeUnusable, "no credentials for S3: \(who) was asked, and \(why)")
  }
}
