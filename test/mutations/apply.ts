import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MUTATIONS } from './table.ts'

// For --import: applies the mutation whose number MUTATION holds to its module as Node loads it. NODE_OPTIONS passes it on to
// child processes, so it also reaches a service that a test starts.

const { file, find, replace } = MUTATIONS[Number(process.env.MUTATION)]!
const mutated = pathToFileURL(join(import.meta.dirname, '..', '..', file)).href

registerHooks({
  load(url, context, next) {
    if (url !== mutated) return next(url, context)
    const source = readFileSync(new URL(url), 'utf8').replace(find, () => replace)
    return { format: 'module-typescript', shortCircuit: true, source }
  },
})
