import HTTPTypes
import Hummingbird
import NIOCore

/// A page to upload with, which loads nothing from elsewhere.
enum UploadPage {
  static let response = Response(
    status: .ok,
    headers: [
      .contentType: "text/html; charset=utf-8", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
      .contentSecurityPolicy:
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src 'self' http: https:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
      // The page's address may be an address for one upload.
      referrerPolicy: "no-referrer",
    ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: PackageResources.page_html)))

  private static let referrerPolicy = HTTPField.Name.named("Referrer-Policy")
}
