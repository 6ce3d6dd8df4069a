import FoundationEssentials
import HTTPTypes
import ReelCore

/// Credentials from the endpoint of a container's runtime or of a virtual machine. These are asked only on request: an
/// address that answers every program on a machine should not be trusted by accident.
public struct EndpointCredentials: Sendable {
  private let transport: any HTTPTransport
  private let environment: [String: String]
  private let files = CredentialFiles()

  /// - Parameters:
  ///   - transport: must allow plain http: the endpoints have link-local addresses, to which no router forwards.
  ///   - environment: the process's environment.
  public init(transport: any HTTPTransport, environment: [String: String]) {
    self.transport = transport
    self.environment = environment
  }

  /// Returns credentials from `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or `…_FULL_URI`, with the token in the file that
  /// `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE` names (EKS rewrites it from time to time), else the one in
  /// `AWS_CONTAINER_AUTHORIZATION_TOKEN` (AWS, "Container credential provider").
  /// - Throws: `storeUnusable` if there is no such endpoint or token, or it returns no credentials; `unavailable` if it
  ///   is busy.
  public func container() async throws(UploadError) -> S3Credentials {
    let (origin, target) = try containerAddress()
    var call = HTTPCall(.get, origin, target)
    if let token = try await containerToken() {
      call.credentials = [HTTPCredential(.authorization, token, for: origin)]
    }
    return try credentials(in: try await ask(call, Self.container), Self.container)
  }

  /// Returns credentials from the instance metadata service, version 2 (AWS, "Use the Instance Metadata Service").
  /// - Throws: `storeUnusable` if there is no such service, or the machine has no role; `unavailable` if it is busy.
  public func instance() async throws(UploadError) -> S3Credentials {
    let who = "the instance metadata service"
    let origin = HTTPOrigin(isSecure: false, host: "169.254.169.254")
    var call = HTTPCall(.put, origin, "/latest/api/token", fields: [Self.lifetime: "21600"])
    call.patience = .seconds(5)
    let token = Secret(String(decoding: try await ask(call, who), as: UTF8.self))
    let folder = "/latest/meta-data/iam/security-credentials/"
    func get(_ target: String, absent: String? = nil) async throws(UploadError) -> [UInt8] {
      var call = HTTPCall(.get, origin, target)
      call.patience = .seconds(5)
      call.credentials = [HTTPCredential(Self.token, token, for: origin)]
      return try await ask(call, who, absent: absent)
    }
    let absent = "this machine has no role: give it one, or name other credentials"
    let roles = String(decoding: try await get(folder, absent: absent), as: UTF8.self)
    guard let role = roles.split(whereSeparator: \.isNewline).first else { throw Self.none(who, absent) }
    return try credentials(in: try await get(folder + PercentEncoding.all(String(role))), who)
  }

  private func containerToken() async throws(UploadError) -> Secret? {
    let name = "AWS_CONTAINER_AUTHORIZATION_TOKEN"
    guard let path = environment[name + "_FILE"], !path.isEmpty else {
      return environment[name].flatMap { $0.isEmpty ? nil : Secret($0) }
    }
    func unusable(_ why: String) -> UploadError {
      UploadError(
        .storeUnusable,
        "no credentials for S3: the file \(path), which \(name)_FILE names, \(why): mount the token there")
    }
    let text = try await rethrowing(
      as: { unusable("can't be read (\($0.reason))") }
    ) { () async throws(SystemError) in try await files.text(of: path) }
    guard let text else { throw unusable("is not there") }
    let token = text.split(whereSeparator: \.isWhitespace)
    guard let only = token.first, token.count == 1, only.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw unusable("holds no token")
    }
    return Secret(String(only))
  }

  private func containerAddress() throws(UploadError) -> (HTTPOrigin, String) {
    let who = Self.container
    if let path = environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"], path.hasPrefix("/") {
      return (HTTPOrigin(isSecure: false, host: "169.254.170.2"), path)
    }
    guard let full = environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] else {
      throw Self.none(
        who, "neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is set")
    }
    let address = try rethrowing(
      as: { Self.none(who, "AWS_CONTAINER_CREDENTIALS_FULL_URI can't be used: \($0.reason)") }
    ) { () throws(HTTPAddressError) in try WebAddress(parsing: full) }
    let origin = address.origin
    guard origin.isSecure || origin.isLoopback || Self.linkLocal.contains(origin.host) else {
      throw Self.none(who, "AWS_CONTAINER_CREDENTIALS_FULL_URI is plain http to another machine")
    }
    return (origin, address.target)
  }

  /// The addresses of ECS and EKS, to which no router forwards.
  private static let linkLocal = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"]
  private static let container = "the container's endpoint"
  private static let lifetime = HTTPField.Name.ours("x-aws-ec2-metadata-token-ttl-seconds")
  private static let token = HTTPField.Name.ours("x-aws-ec2-metadata-token")

  /// - Parameter absent: the meaning of a 404.
  private func ask(
    _ call: HTTPCall, _ who: String, absent: String? = nil
  ) async throws(UploadError) -> [UInt8] {
    let reply = try await rethrowing(as: { Self.failure($0, who) }) { () async throws(HTTPFailure) in
      try await transport.send(call)
    }
    switch reply.status.code {
    case 200: return reply.body
    case 429, 500...599:
      throw Self.busy(
        who, "it is busy or down (\(reply.status.code))", retryAfter: reply.retryAfter(now: Date()))
    case 404: throw Self.none(who, absent ?? "it knows no such address (404)")
    default: throw Self.none(who, "it refused (\(reply.status.code))")
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
      throw Self.none(who, "its answer contains no credentials")
    }
    guard let expires = ISOTime.date(answer.Expiration) else {
      throw Self.none(who, "its answer does not say when the credentials expire")
    }
    return S3Credentials(
      keyID: answer.AccessKeyId, secret: Secret(answer.SecretAccessKey), token: Secret(answer.Token),
      expires: expires)
  }

  private static func failure(_ failure: HTTPFailure, _ who: String) -> UploadError {
    switch failure {
    case .silent: busy(who, "it gave no answer")
    case .timedOut: busy(who, "it was too slow")
    case .broken(let reason): busy(who, "the connection broke (\(reason))")
    case .unreachable(let reason): none(who, "it can't be reached (\(reason))")
    case .untrusted(let reason): none(who, "it can't be trusted (\(reason))")
    case .garbled: none(who, "it does not speak HTTP")
    case .replyTooLarge: none(who, "its answer is too long")
    case .proxyRefused(let status): none(who, "the proxy answered \(status)")
    case .noLibrary, .plainHTTP, .misdirected, .source, .cancelled: UploadError(failure, store: who)
    }
  }

  private static func busy(_ who: String, _ why: String, retryAfter: Double? = nil) -> UploadError {
    UploadError(
      .unavailable, "no credentials for S3: \(who) gave none: \(why): try again", retryAfter: retryAfter)
  }

  private static func none(_ who: String, _ why: String) -> UploadError {
    UploadError(.storeUnusable, "no credentials for S3: \(who) gave none: \(why)")
  }
}
