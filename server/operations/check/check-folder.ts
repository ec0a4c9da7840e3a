import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { CheckResult } from './check-result.ts'

/** Whether the data folder, or the folder that it would be created in, can be written. */
export function checkFolder(folder: string): CheckResult {
  let existing = folder
  while (!existsSync(existing)) existing = dirname(existing)
  if (!isWritableFolder(existing)) {
    const message = `SLIPWAY_DATA: ${existing} is not a folder that the user of this process can write to`
    return { name: 'data folder', status: 'failed', message }
  }
  const message = existing === folder ? folder : `${folder} can be created`
  return { name: 'data folder', status: 'ok', message }
}

function isWritableFolder(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
