// Everything for testing code that uses Reel: the contract tests of uploaders and recorders, posts made up for previews,
// and doubles for what a run works with. `MemoryUploader` and `MemoryCatalog` are in `Reel` itself.

@_exported import ReelStorageTesting
