import CCurl

/// libcurl, opened by the name that it has kept since 2006. Its functions may be called from any thread; a handle belongs
/// to one thread at a time.
struct Curl: @unchecked Sendable {
  // Sendable: the table is written once, before anybody has it.
  private let table: OpaquePointer

  /// The library's file, as every distribution names it.
  static let fileName = "libcurl.so.4"

  /// Opens the library. Blocks.
  /// - Throws: ``HTTPFailure/noLibrary(_:)``.
  init(opening name: String = Curl.fileName) throws(HTTPFailure) {
    var why = [CChar](repeating: 0, count: 300)
    guard let table = reel_curl_open(name, &why, why.count) else {
      throw .noLibrary(String(decoding: why.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
    self.table = table
  }

  /// Gives the table back; the library stays loaded.
  func close() { reel_curl_close(table) }

  /// The bundle and the directory of certificates that the library trusts by itself.
  var trusted: (bundle: String?, directory: String?) {
    var (bundle, directory): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
    reel_curl_trusted(table, &bundle, &directory)
    return (bundle.map { String(cString: $0) }, directory.map { String(cString: $0) })
  }

  // MARK: One transfer

  typealias Easy = UnsafeMutableRawPointer

  func makeEasy() -> Easy? { reel_curl_easy_init(table) }
  func free(_ easy: Easy) { reel_curl_easy_cleanup(table, easy) }

  /// The body may be asked for again.
  func resume(_ easy: Easy) { _ = reel_curl_easy_pause(table, easy, 0) }

  func words(for code: CURLcode) -> String { String(cString: reel_curl_easy_strerror(table, code)) }

  func set(_ easy: Easy, _ option: CURLoption, _ value: Int) {
    _ = reel_curl_set_long(table, easy, option, value)
  }
  func set(_ easy: Easy, _ option: CURLoption, offset: Int64) {
    _ = reel_curl_set_offset(table, easy, option, curl_off_t(offset))
  }
  func set(_ easy: Easy, _ option: CURLoption, _ value: String?) {
    _ = reel_curl_set_text(table, easy, option, value)
  }
  func set(_ easy: Easy, _ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
    _ = reel_curl_set_pointer(table, easy, option, pointer)
  }
  /// Whether all of them are known to it.
  func set(_ easy: Easy, _ callbacks: inout reel_curl_callbacks, context: UnsafeMutableRawPointer) -> Bool {
    reel_curl_set_callbacks(table, easy, &callbacks, context) == CURLE_OK
  }

  func long(_ easy: Easy, _ info: CURLINFO) -> Int {
    var value = 0
    _ = reel_curl_get_long(table, easy, info, &value)
    return value
  }
  func offset(_ easy: Easy, _ info: CURLINFO) -> Int64 {
    var value: curl_off_t = 0
    _ = reel_curl_get_offset(table, easy, info, &value)
    return Int64(value)
  }

  /// The socket of the connection that was used last; nil when there was none.
  func socket(_ easy: Easy) -> Int32? {
    let socket = reel_curl_socket(table, easy)
    return socket < 0 ? nil : socket
  }

  /// Lines for `CURLOPT_HTTPHEADER`; nil when there is no memory.
  func list(_ lines: [String]) -> UnsafeMutablePointer<curl_slist>? {
    var list: UnsafeMutablePointer<curl_slist>?
    for line in lines {
      guard let longer = reel_curl_slist_append(table, list, line) else {
        free(list)
        return nil
      }
      list = longer
    }
    return list
  }
  func free(_ list: UnsafeMutablePointer<curl_slist>?) { reel_curl_slist_free(table, list) }

  // MARK: Many

  typealias Multi = UnsafeMutableRawPointer

  /// - Parameter keeping: connections that are kept for later.
  func makeMulti(keeping: Int) -> Multi? { reel_curl_multi_init(table, keeping) }
  func end(_ multi: Multi) { _ = reel_curl_multi_cleanup(table, multi) }
  func add(_ easy: Easy, to multi: Multi) -> Bool { reel_curl_multi_add(table, multi, easy) == CURLM_OK }
  func remove(_ easy: Easy, from multi: Multi) { _ = reel_curl_multi_remove(table, multi, easy) }
  func perform(_ multi: Multi) { _ = reel_curl_multi_perform(table, multi) }
  /// Waits until something can be done, or ``wake(_:)`` is called.
  func wait(_ multi: Multi, milliseconds: Int32) { _ = reel_curl_multi_poll(table, multi, milliseconds) }
  /// From any thread.
  func wake(_ multi: Multi) { _ = reel_curl_multi_wakeup(table, multi) }
  /// The next one that has ended.
  func ended(_ multi: Multi) -> (easy: Easy, code: CURLcode)? {
    var code = CURLE_OK
    return reel_curl_multi_ended(table, multi, &code).map { ($0, code) }
  }
}
