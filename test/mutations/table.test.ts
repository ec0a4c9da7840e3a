import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseSync } from 'vite'
import { findEdit } from './edit.ts'
import { MUTATIONS } from './table.ts'

// That the tests find each mutation is what `npm run mutations` verifies; it takes minutes.

const root = join(import.meta.dirname, '..', '..')

test('each mutation of the table applies to one place, can be executed, and names tests that exist', () => {
  const broken = MUTATIONS.flatMap((mutation) => {
    const missing = mutation.tests.filter((path) => !existsSync(join(root, path)))
    const problems = [...missing.map((path) => `there is no ${path}`), ...describeEdit(mutation)]
    if (mutation.code === mutation.replace) problems.push('it changes nothing')
    return problems.map((problem) => `${mutation.breaks}: ${problem}`)
  })
  assert.deepEqual(broken, [], 'if the code keeps its promise, give the row the code as it is now')
})

function describeEdit(mutation: (typeof MUTATIONS)[number]): string[] {
  try {
    const { url, start, end, replace } = findEdit(mutation)
    if (!/\.tsx?$/.test(mutation.file)) return []
    const text = readFileSync(new URL(url), 'utf8')
    // Every test fails with a module that cannot be parsed.
    const { errors } = parseSync(mutation.file, text.slice(0, start) + replace + text.slice(end))
    return errors.map(({ message }) => message)
  } catch (error) {
    return [(error as Error).message]
  }
}
