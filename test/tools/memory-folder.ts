import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Creates a temporary folder in memory, where the system has one, for tests that do not depend on durability. Disposal
 * deletes it with its contents.
 */
export async function memoryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'slipway-test-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) }
}
