import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import type { Edit } from './edit.ts'

// For --import: applies the edit in MUTATION to its module as Node loads it. NODE_OPTIONS passes it on to child processes,
// so it also reaches a service that a test starts.

const { url: mutated, start, end, replace } = JSON.parse(process.env.MUTATION!) as Edit

registerHooks({
  load(url, context, next) {
    if (url !== mutated) return next(url, context)
    const source = readFileSync(new URL(url), 'utf8')
    return {
      format: 'module-typescript',
      shortCircuit: true,
      source: source.slice(0, start) + replace + source.slice(end),
    }
  },
})
