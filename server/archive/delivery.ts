import type { ArchiveFile, Found } from './file.ts'

/** Most bytes of whole files at once, so that many slow archives beside one another take little memory. */
const PARALLEL_BYTES = 2 ** 20

/** As many small files at once as there are threads for their writes (`UV_THREADPOOL_SIZE`, see design.md). */
const PARALLEL = 16

/**
 * Gives every file to `each`: small ones some at a time, a streamed one before the next is looked at.
 * The first failure is passed to `stop`, which must end `files`; rejects with it once no `each` runs any more.
 */
export async function deliver(
  files: AsyncIterable<Found>,
  each: (file: ArchiveFile) => Promise<void>,
  stop: (reason: unknown) => void,
): Promise<void> {
  const running = new Set<Promise<void>>()
  let bytes = 0
  let failed: { reason: unknown } | undefined

  function fail(reason: unknown): void {
    failed ??= { reason }
    stop(reason)
  }

  function start(file: Found): void {
    bytes += file.size
    const run = give(file, each)
      .catch(fail)
      .finally(() => {
        bytes -= file.size
        running.delete(run)
      })
    running.add(run)
  }

  try {
    for await (const file of files) {
      if (!file.whole) await give(file, each).catch(fail)
      else start(file)
      while (running.size >= PARALLEL || bytes >= PARALLEL_BYTES) await Promise.race(running)
      if (failed) break
    }
  } catch (error) {
    fail(error)
  }
  await Promise.all(running)
  if (failed) throw failed.reason
}

/** What broke the body counts before what `each` made of it. */
async function give(file: Found, each: (file: ArchiveFile) => Promise<void>): Promise<void> {
  const { path, size, body } = file
  try {
    await each({ path, size, body })
  } catch (error) {
    throw file.broken ?? error
  }
  if (file.broken) throw file.broken
}
