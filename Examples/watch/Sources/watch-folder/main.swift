// Ingests a folder, and prints the state of the view model, as an app's view would show it.
//   watch-folder LIBRARY FOLDER

import Observation
import Reel

guard CommandLine.arguments.count == 3 else {
  fatalError("usage: watch-folder LIBRARY FOLDER")
}
let library = try await LibraryFolder.prepare(at: CommandLine.arguments[1])
let catalog = try await SQLiteCatalog.open(library: library)
let prober = SandboxedProber(worker: .installed, workers: 4)
let store = FolderUploader(root: library.mediaPath, temporaries: library.temporaryPath)
let services = IngestServices(
  prober: prober, uploader: VerifyingUploader(base: RetryingUploader(base: store)), catalog: catalog)

let model = IngestModel(
  inputs: [SourceInput(path: SourcePath(CommandLine.arguments[2]))], options: IngestOptions(),
  services: services)
let run = Task { await model.run() }
for await state in Observations({ model.state }) {
  print("\(state.done) of \(state.found) done, \(state.published) published")
  if case .finished = state.phase { break }
}
let summary = await run.value
if let error = summary.error { print("could not continue: \(error.message)") }

await prober.close()
try await catalog.close()
