import ReelCore
import ReelStorage

/// Where viewers find what is in a bucket.
struct FirebaseAddresses: Sendable {
  let bucket: StorageBucket
  let publicBaseURL: String?

  /// A base that the settings name; else the address that the Firebase apps themselves use. That holds the object's
  /// download token, which is made for viewers: whoever has the address can see the video, whatever the bucket's rules
  /// say, and nobody can change it with it.
  func url(of key: ObjectKey, token: String?) -> String {
    if let publicBaseURL { return ObjectAddresses(base: publicBaseURL).url(of: key) }
    if let emulator = bucket.emulator { return "\(emulator)\(bucket.target(of: key))?alt=media" }
    let address =
      "https://firebasestorage.googleapis.com/v0/b/\(bucket.name)/o/"
      + PercentEncoding.all(bucket.objectName(of: key)) + "?alt=media"
    return token.map { address + "&token=" + PercentEncoding.all($0) } ?? address
  }
}
