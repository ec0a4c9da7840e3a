import type { ArchiveEntry, ArchiveFile } from './file.ts'

/** Total bytes of buffered files, so that many slow archives use little memory. */
const MAX_CONCURRENT_BYTES = 2 ** 20

/** Each write occupies a thread, and `deploy/` and `npm start` set `UV_THREADPOOL_SIZE` to 16. */
const MAX_CONCURRENT_FILES = 16

/**
 * Passes every file to `onFile`: small ones concurrently, a streamed one before the next is read. The first
 * error is passed to `stop`, which must end `files`; rejects with it once no `onFile` runs any more.
 */
export async function processEntries(
  files: AsyncIterable<ArchiveEntry>,
  onFile: (file: ArchiveFile) => Promise<void>,
  stop: (reason: unknown) => void,
): Promise<void> {
  const running = new Set<Promise<void>>()
  let bytes = 0
  let failed: { reason: unknown } | undefined

  function fail(reason: unknown): void {
    failed ??= { reason }
    stop(reason)
  }

  function start(file: ArchiveEntry): void {
    bytes += file.size
    const run = processEntry(file, onFile)
      .catch(fail)
      .finally(() => {
        bytes -= file.size
        running.delete(run)
      })
    running.add(run)
  }

  try {
    for await (const file of files) {
      if (!file.isBuffered) await processEntry(file, onFile).catch(fail)
      else start(file)
      while (running.size >= MAX_CONCURRENT_FILES || bytes >= MAX_CONCURRENT_BYTES)
        await Promise.race(running)
      if (failed) break
    }
  } catch (error) {
    fail(error)
  }
  await Promise.all(running)
  if (failed) throw failed.reason
}

/** An error of the body takes precedence over the error that `onFile` made of it. */
async function processEntry(file: ArchiveEntry, onFile: (file: ArchiveFile) => Promise<void>): Promise<void> {
  try {
    await onFile(file)
  } catch (error) {
    throw file.sourceError ?? error
  }
  if (file.sourceError) throw file.sourceError
}
