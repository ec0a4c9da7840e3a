import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { locate } from './locate.ts'
import { MUTATIONS, type Mutation } from './table.ts'

const root = join(import.meta.dirname, '..', '..')
const APPLY = new URL('apply.ts', import.meta.url).href

/** What apply.ts does to a module: replaces the characters between two offsets. */
export interface Edit {
  url: string
  start: number
  end: number
  replace: string
}

/** Throws when the code of the mutation is not where its row says. */
export function findEdit({ file, within, code, replace }: Mutation): Edit {
  const path = join(root, file)
  const range = locate({ path, text: readFileSync(path, 'utf8') }, within, code)
  return { url: pathToFileURL(path).href, ...range, replace }
}

/** The environment of a process in which a promise is broken. */
export function mutationEnvironment(mutation: Mutation): { MUTATION: string; NODE_OPTIONS: string } {
  return { MUTATION: JSON.stringify(findEdit(mutation)), NODE_OPTIONS: `--import=${APPLY}` }
}

/** The row of the table with this sentence. */
export function findMutation(breaks: string): Mutation {
  const found = MUTATIONS.find((mutation) => mutation.breaks === breaks)
  if (!found) throw new Error(`no mutation ${breaks}`)
  return found
}
