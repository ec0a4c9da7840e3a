import type { ArchiveFile, Found } from './file.ts'

/** As many small files at once as there are threads for their writes (`UV_THREADPOOL_SIZE`, see design.md). */
const PARALLEL = 16

/**
 * Gives every file to `each`: small ones at most PARALLEL at a time, a streamed one before the next is looked at.
 * The first failure is passed to `stop`, which must end `files`; rejects with it once no `each` runs any more.
 */
export async function deliver(
  files: AsyncIterable<Found>,
  each: (file: ArchiveFile) => Promise<void>,
  stop: (reason: unknown) => void,
): Promise<void> {
  const running = new Set<Promise<void>>()
  let failed: { reason: unknown } | undefined

  function fail(reason: unknown): void {
    failed ??= { reason }
    stop(reason)
  }

  function start(file: Found): void {
    const run = give(file, each)
      .catch(fail)
      .finally(() => running.delete(run))
    running.add(run)
  }

  try {
    for await (const file of files) {
      if (!file.whole) await give(file, each).catch(fail)
      else start(file)
      if (running.size >= PARALLEL) await Promise.race(running)
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
