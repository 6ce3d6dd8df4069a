import Glibc

/// The proxies that the environment names, by the variables that libcurl reads.
package enum ProxyEnvironment {
  /// Whether a proxy is named. Not `HTTP_PROXY`, which a CGI program gets from its client (CVE-2016-5385).
  package static var namesProxy: Bool {
    ["http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"].contains { (name: String) in
      getenv(name) != nil
    }
  }
}
