import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root folder of the project. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * The content of a JSON file of the project; undefined when it does not exist.
 *
 * @param {string} path
 */
export function readJson(path) {
  const file = join(root, path)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}
