import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts'

/** Creates a temporary folder in memory, where the system has one, for tests that do not depend on durability. */
export function memoryFolder(): Promise<TemporaryFolder> {
  return temporaryFolder('slipway-test-', existsSync('/dev/shm') ? '/dev/shm' : tmpdir())
}
