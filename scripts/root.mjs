import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root folder of the project. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * What a JSON file of the project says; undefined when it is not there.
 *
 * @param {string} path
 */
export function readJson(path) {
  const file = join(root, path)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}
