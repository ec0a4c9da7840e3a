import { readFileSync } from 'node:fs'

/** Replacements in a configuration file, of file names and ports. */
export type Changes = readonly (readonly [from: string, to: string])[]

/** A file of deploy/edge with these changes, each of which has to be possible. */
export function readRecipe(file: string, changes: Changes): string {
  const text = readFileSync(new URL(`../../deploy/edge/${file}`, import.meta.url), 'utf8')
  return changes.reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`deploy/edge/${file} has no ${JSON.stringify(from)}`)
    return before.replaceAll(from, () => to)
  }, text)
}
