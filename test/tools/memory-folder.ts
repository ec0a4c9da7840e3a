import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A folder in memory, where there is such a thing: for tests that do not ask what survives a power cut, so that no
 * disk needs to turn for them. It goes with its contents.
 */
export async function memoryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'slipway-test-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) }
}
