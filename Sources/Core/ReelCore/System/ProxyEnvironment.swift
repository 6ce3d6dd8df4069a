import Glibc

/// The proxies that the environment names, by the variables that libcurl reads.
package enum ProxyEnvironment {
  /// Whether a proxy is named for https, or for http. An empty variable names none. `HTTP_PROXY` does not count: a CGI
  /// program gets it from its client (CVE-2016-5385).
  package static func namesProxy(forHTTPS isSecure: Bool) -> Bool {
    (isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]).contains(where: isSet)
      || ["all_proxy", "ALL_PROXY"].contains(where: isSet)
  }

  private static func isSet(_ name: String) -> Bool { getenv(name).map { $0.pointee != 0 } ?? false }
}
