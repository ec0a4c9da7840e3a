import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts'

/** Creates a temporary folder in memory, where the system has one, for tests that do not depend on durability. */
export function memoryFolder(): Promise<TemporaryFolder> {
  // The folder of a run is in memory, and is deleted with all that is in it.
  const isInRun = process.env.TEST_RUNNER !== undefined
  return temporaryFolder('slipway-test-', !isInRun && existsSync('/dev/shm') ? '/dev/shm' : tmpdir())
}
