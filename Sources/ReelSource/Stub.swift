import ReelModel
public struct CaptionList: Sendable { public func words(for path: SourcePath) -> PostWords? { nil }
 public static func load(_ p: SourcePath) throws(SourceError) -> CaptionList { CaptionList() } }
public enum Sidecar { public static func read(beside: FoundFile, trustAuthor: Bool) throws(SourceError) -> PostWords? { nil } }
public enum FileList { public static func read(_ p: SourcePath) throws(SourceError) -> [SourcePath] { [] } }
